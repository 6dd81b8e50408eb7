// The records of TLS 1.3 (RFC 8446, section 5), and the handshake before them, which crypto/tls makes.
//
//	record     := 0x17 0x0303 length(u16) ciphertext
//	ciphertext := AEAD(plaintext content-type(u8) padding), with the head of the record as additional data
//	padding    := any number of zeros
//	nonce      := iv XOR the number of the record in its direction
package main

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"net"
	"strings"
	"syscall"
)

const (
	headBytes        = 5
	maxPlain         = 1 << 14
	contentHandshake = 22
	contentData      = 23
	overhead         = 1 + 16 // content type, tag
)

// direction is the keys of one direction, and how many records were sealed or opened.
type direction struct {
	aead  cipher.AEAD
	iv    [12]byte
	count uint64
}

func newDirection(id uint16, secret []byte) (*direction, error) {
	newHash, keyBytes := func() hash.Hash { return sha256.New() }, 16
	if id == tls.TLS_AES_256_GCM_SHA384 {
		newHash, keyBytes = sha512.New384, 32
	}
	key, err := expand(newHash, secret, "key", keyBytes)
	if err != nil {
		return nil, err
	}
	iv, err := expand(newHash, secret, "iv", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &direction{aead: aead, iv: [12]byte(iv)}, nil
}

// expand is HKDF-Expand-Label of RFC 8446 with an empty context.
func expand(newHash func() hash.Hash, secret []byte, label string, length int) ([]byte, error) {
	label = "tls13 " + label
	info := binary.BigEndian.AppendUint16(nil, uint16(length))
	info = append(info, byte(len(label)))
	info = append(info, label...)
	return hkdf.Expand(newHash, secret, string(append(info, 0)), length)
}

func (d *direction) nonce() [12]byte {
	nonce := d.iv
	for at := range 8 {
		nonce[11-at] ^= byte(d.count >> (8 * at))
	}
	d.count++
	return nonce
}

// seal appends the records of a plaintext.
func (d *direction) seal(out, plain []byte) []byte {
	for len(plain) > 0 {
		part := plain[:min(len(plain), maxPlain)]
		plain = plain[len(part):]
		out = append(out, contentData, 3, 3, 0, 0)
		head := out[len(out)-headBytes:]
		binary.BigEndian.PutUint16(head[3:], uint16(len(part)+overhead))
		from := len(out)
		out = append(append(out, part...), contentData)
		nonce := d.nonce()
		out = d.aead.Seal(out[:from], nonce[:], out[from:], head)
	}
	return out
}

// open decrypts a record in place. A record of the handshake (a session ticket) has no data.
func (d *direction) open(record []byte) ([]byte, error) {
	nonce, sealed := d.nonce(), record[headBytes:]
	inner, err := d.aead.Open(sealed[:0], nonce[:], sealed, record[:headBytes])
	if err != nil {
		return nil, err
	}
	inner = bytes.TrimRight(inner, "\x00")
	if len(inner) == 0 {
		return nil, errors.New("a record without a content type")
	}
	switch inner[len(inner)-1] {
	case contentData:
		return inner[:len(inner)-1], nil
	case contentHandshake:
		if inner[0] == 4 { // a session ticket; the broker does not renew its keys within a measurement
			return nil, nil
		}
	}
	return nil, fmt.Errorf("a record of content type %d was not expected", inner[len(inner)-1])
}

// config is a client's: one key exchange for every broker, and no check of the broker's chain, since only the
// broker's work is measured.
func config() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, InsecureSkipVerify: true, CurvePreferences: []tls.CurveID{tls.X25519},
	}
}

// checkSuite refuses to measure one cipher suite beside another.
func checkSuite(state tls.ConnectionState) error {
	if name := tls.CipherSuiteName(state.CipherSuite); name != *suite {
		return fmt.Errorf("the broker chose %s, not -cipher=%s; set ssl.cipher.suites", name, *suite)
	}
	return nil
}

// dial connects, makes the handshake if there is one, and takes the socket away from Go. Before the broker has the
// client's last message it sends no record of the new keys, so crypto/tls has read none of them.
func dial() (fd int, send, receive *direction, err error) {
	conn, err := net.Dial("tcp", *address)
	if err != nil {
		return -1, nil, nil, err
	}
	defer conn.Close() // the socket stays open, as fd
	if *isTLS {
		var log bytes.Buffer
		settings := config()
		settings.KeyLogWriter = &log
		client := tls.Client(conn, settings)
		if err = client.Handshake(); err == nil {
			err = checkSuite(client.ConnectionState())
		}
		if err != nil {
			return -1, nil, nil, err
		}
		id := client.ConnectionState().CipherSuite
		if send, err = newDirection(id, secretIn(log.String(), "CLIENT_TRAFFIC_SECRET_0")); err == nil {
			receive, err = newDirection(id, secretIn(log.String(), "SERVER_TRAFFIC_SECRET_0"))
		}
		if err != nil {
			return -1, nil, nil, err
		}
	}
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		return -1, nil, nil, err
	}
	var failed error
	err = raw.Control(func(own uintptr) { fd, failed = syscall.Dup(int(own)) })
	return fd, send, receive, errors.Join(err, failed)
}

// secretIn finds a secret in the lines of a key log: label, client's random, secret.
func secretIn(log, label string) []byte {
	for line := range strings.Lines(log) {
		fields := strings.Fields(line)
		if len(fields) == 3 && fields[0] == label {
			secret, _ := hex.DecodeString(fields[2])
			return secret
		}
	}
	return nil
}
