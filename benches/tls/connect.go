// Connections: each connects, makes a handshake, asks for ApiVersions once and closes. -conns are open at a time.
package main

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// apiVersions is the request in version 0 with its size in front: no client id.
var apiVersions = []byte{0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 7, 0xff, 0xff}

// connector makes one connection after the other.
type connector struct {
	settings  *tls.Config
	made      atomic.Int64
	resumed   atomic.Int64
	latencies []time.Duration
}

func (c *connector) once() error {
	conn, err := net.Dial("tcp", *address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if *isTLS {
		client := tls.Client(conn, c.settings)
		if err := client.Handshake(); err != nil {
			return err
		}
		state := client.ConnectionState()
		if err := checkSuite(state); err != nil {
			return err
		}
		if state.DidResume {
			c.resumed.Add(1)
		}
		conn = client
		defer client.Close() // says the end
	}
	if _, err := conn.Write(apiVersions); err != nil {
		return err
	}
	front := make([]byte, 8)
	if _, err := io.ReadFull(conn, front); err != nil {
		return err
	}
	if front[7] != apiVersions[11] {
		return errors.New("the answer is not of ApiVersions")
	}
	_, err = io.CopyN(io.Discard, conn, int64(binary.BigEndian.Uint32(front))-4)
	return err
}

func connect() (figures, error) {
	all := make([]*connector, *conns)
	var isOver, isMeasured atomic.Bool
	failed := make([]error, *conns)
	var wait sync.WaitGroup
	for n := range all {
		one := &connector{settings: config()}
		if *resume {
			one.settings.ClientSessionCache = tls.NewLRUClientSessionCache(4)
			one.settings.ServerName = "localhost"
		}
		all[n] = one
		wait.Go(func() {
			for failed[n] == nil && !isOver.Load() {
				began := time.Now()
				if failed[n] = one.once(); failed[n] == nil {
					one.made.Add(1)
					if isMeasured.Load() {
						one.latencies = append(one.latencies, time.Since(began))
					}
				}
			}
		})
	}
	sum := func(of func(*connector) int64) (total int64) {
		for _, one := range all {
			total += of(one)
		}
		return total
	}
	made := func(one *connector) int64 { return one.made.Load() }
	resumed := func(one *connector) int64 { return one.resumed.Load() }
	time.Sleep(time.Duration(*warmUp * float64(time.Second)))
	isMeasured.Store(true)
	measured, before := begin(sum(made), 0), sum(resumed)
	time.Sleep(time.Duration(*seconds * float64(time.Second)))
	found := measured.end(sum(made), 0, nil)
	found.Resumed = float64(sum(resumed)-before) / float64(max(found.Units, 1))
	isOver.Store(true)
	wait.Wait()
	var latencies []time.Duration
	for _, one := range all {
		latencies = append(latencies, one.latencies...)
	}
	timed := measured.end(0, 0, latencies)
	found.P50, found.P99 = timed.P50, timed.P99
	return found, errors.Join(failed...)
}
