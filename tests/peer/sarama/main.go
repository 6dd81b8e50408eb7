// A client over sarama for the tests of transactions and of old versions: one request as JSON on standard input, its
// result as JSON on standard output, or an error on standard error and exit code 1. It judges nothing; the test that
// calls it does.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/IBM/sarama"
)

const limit = 40 * time.Second

type request struct {
	Call      string `json:"call"`
	Bootstrap string `json:"bootstrap"`

	TransactionalID string `json:"transactional_id"`
	TimeoutMs       int64  `json:"timeout_ms"`
	Steps           []step `json:"steps"`

	Topic     string `json:"topic"`
	Committed bool   `json:"read_committed"`
	Count     int    `json:"count"`

	Group  string   `json:"group"`
	Codec  string   `json:"codec"`
	Values []string `json:"values"`
}

var calls = map[string]func(context.Context, request) (any, error){
	"transactions": transactions,
	"read":         read,
	"old_produce":  oldProduce,
	"old_read":     oldRead,
}

func (r request) brokers() []string {
	return strings.Split(r.Bootstrap, ",")
}

// newConfig is sarama's configuration with the newest protocol that it speaks.
func newConfig() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Consumer.MaxWaitTime = 20 * time.Millisecond
	return config
}

// reason is the error with those that it contains: sarama's own text has only their number.
func reason(err error) string {
	var failed sarama.ProducerErrors
	if errors.As(err, &failed) && len(failed) > 0 {
		return fmt.Sprintf("%v: %v", err, failed[0].Err)
	}
	return err.Error()
}

func run() error {
	var r request
	if err := json.NewDecoder(os.Stdin).Decode(&r); err != nil {
		return err
	}
	call, known := calls[r.Call]
	if !known {
		return fmt.Errorf("no call %q", r.Call)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	result, err := call(ctx, r)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, reason(err))
		os.Exit(1)
	}
}
