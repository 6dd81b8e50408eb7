package main

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// security is how the client proves who it is (a token is its password), and the file with the authority that it trusts
// (none: no TLS).
type security struct {
	Mechanism string `json:"mechanism"`
	User      string `json:"user"`
	Password  string `json:"password"`
	Authority string `json:"authority"`
}

func (s security) options() ([]kgo.Opt, error) {
	var options []kgo.Opt
	if s.Authority != "" {
		pem, err := os.ReadFile(s.Authority)
		if err != nil {
			return nil, err
		}
		roots := x509.NewCertPool()
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s has no certificate", s.Authority)
		}
		options = append(options, kgo.DialTLSConfig(&tls.Config{RootCAs: roots}))
	}
	mechanisms := map[string]func() sasl.Mechanism{
		"PLAIN":         plain.Auth{User: s.User, Pass: s.Password}.AsMechanism,
		"SCRAM-SHA-256": scram.Auth{User: s.User, Pass: s.Password}.AsSha256Mechanism,
		"SCRAM-SHA-512": scram.Auth{User: s.User, Pass: s.Password}.AsSha512Mechanism,
		"OAUTHBEARER":   oauth.Auth{Token: s.Password}.AsMechanism,
	}
	if s.Mechanism != "" {
		make, known := mechanisms[s.Mechanism]
		if !known {
			return nil, fmt.Errorf("no mechanism %q", s.Mechanism)
		}
		options = append(options, kgo.SASL(make()))
	}
	return options, nil
}
