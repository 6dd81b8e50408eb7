// A client in Go for the tests: one request as JSON on standard input, its result as JSON on standard output, or an
// error on standard error and exit code 1. It judges nothing; the Python test that calls it does.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const limit = 40 * time.Second

type request struct {
	Call       string   `json:"call"`
	Bootstrap  string   `json:"bootstrap"`
	Topic      string   `json:"topic"`
	Partitions int32    `json:"partitions"`
	Codec      string   `json:"codec"`
	Records    []record `json:"records"`
	Timestamp  *int64   `json:"timestamp"`
	Committed  bool     `json:"read_committed"`
	Group      string   `json:"group"`
	Count      int      `json:"count"`

	TransactionalID string `json:"transactional_id"`
	TimeoutMs       int64  `json:"timeout_ms"`
	Steps           []step `json:"steps"`

	Security security `json:"security"`
}

var calls = map[string]func(context.Context, request) (any, error){
	"createTopic":    createTopic,
	"produce":        produce,
	"consume":        consume,
	"consumeInGroup": consumeInGroup,
	"shareGroup":     shareGroup,
	"transactions":   transactions,
}

func newClient(r request, options ...kgo.Opt) (*kgo.Client, error) {
	secure, err := r.Security.options()
	if err != nil {
		return nil, err
	}
	options = append(options, secure...)
	return kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(r.Bootstrap)}, options...)...)
}

// createTopic answers how many partitions the new topic is described with.
func createTopic(ctx context.Context, r request) (any, error) {
	client, err := newClient(r)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	if _, err := admin.CreateTopic(ctx, r.Partitions, 1, nil, r.Topic); err != nil {
		return nil, err
	}
	described, err := admin.ListTopics(ctx, r.Topic)
	if err != nil {
		return nil, err
	}
	return len(described[r.Topic].Partitions), described.Error()
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
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
