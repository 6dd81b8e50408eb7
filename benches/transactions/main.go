// Transactions against running brokers, Apache Kafka or kafkastore: producers that each commit one transaction after
// the other. Prints one line of JSON: commits per second, the latency of a transaction and of its commit, the CPU of
// the brokers, and how often a request was refused (CONCURRENT_TRANSACTIONS) and sent again.
//
// Each producer has a transactional id and connections of its own. A transaction has a number of records, spread over
// the first partitions of the topic; the commit begins when all of them are acknowledged. Requests are those of
// transaction version 2 (KIP-890); franz-go only carries them, so that the load takes little CPU of the machine that
// the brokers run on. See producer.go.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	recordBytes  = 100
	warmUp       = 2 * time.Second
	ticksPerS    = 100 // USER_HZ of Linux
	txnTimeout   = 60 * time.Second
	createWithin = 60 * time.Second
)

var (
	bootstrap  = flag.String("bootstrap", "127.0.0.1:9092", "brokers")
	pids       = flag.String("broker-pid", "", "process ids of the brokers, whose CPU is counted")
	producers  = flag.Int("producers", 1, "transactional producers")
	records    = flag.Int("records", 1, "records of a transaction")
	partitions = flag.Int("partitions", 1, "partitions of a transaction")
	replicas   = flag.Int("replication-factor", 1, "of the topic")
	seconds    = flag.Float64("seconds", 5, "how long is measured")
	rate       = flag.Float64("rate", 0, "the most commits per second of all producers; 0 means no limit")
	label      = flag.String("label", "", "printed with the figures")
)

// sample is one transaction: its length, and that of its commit.
type sample struct{ whole, commit time.Duration }

func main() {
	flag.Parse()
	topic := fmt.Sprintf("txn-%d-%d-%d", *partitions, *replicas, time.Now().UnixNano())
	createTopic(topic)
	var (
		wait    sync.WaitGroup
		lock    sync.Mutex
		all     []sample
		repeats int
		failed  error
		start   = time.Now().Add(warmUp)
		end     = start.Add(time.Duration(*seconds * float64(time.Second)))
		before  float64
		counted = make(chan struct{})
	)
	go func() {
		time.Sleep(time.Until(start))
		before = cpuSeconds()
		close(counted)
	}()
	for n := range *producers {
		wait.Add(1)
		go func() {
			defer wait.Done()
			found, again, err := produce(topic, n, start, end)
			lock.Lock()
			defer lock.Unlock()
			all = append(all, found...)
			repeats += again
			if err != nil {
				failed = err
			}
		}()
	}
	wait.Wait()
	<-counted
	cpu := cpuSeconds() - before
	if failed != nil {
		fmt.Fprintln(os.Stderr, failed)
		os.Exit(1)
	}
	report(all, repeats, cpu)
}

func createTopic(topic string) {
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(*bootstrap, ",")...))
	must(err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), createWithin)
	defer cancel()
	_, err = kadm.NewClient(client).CreateTopic(ctx, int32(*partitions), int16(*replicas), nil, topic)
	must(err)
}

func report(all []sample, repeats int, cpu float64) {
	quantile := func(of func(sample) time.Duration, q float64) float64 {
		if len(all) == 0 {
			return 0
		}
		sort.Slice(all, func(a, b int) bool { return of(all[a]) < of(all[b]) })
		at := min(int(q*float64(len(all))), len(all)-1)
		return float64(of(all[at]).Microseconds()) / 1000
	}
	whole := func(one sample) time.Duration { return one.whole }
	commit := func(one sample) time.Duration { return one.commit }
	figures := map[string]any{
		"label": *label, "producers": *producers, "records": *records, "partitions": *partitions,
		"replication_factor": *replicas, "commits": len(all),
		"repeats": repeats, "failed": failed.Load(), "commits_per_s": float64(len(all)) / *seconds,
		"transaction_ms_p50": quantile(whole, 0.5), "transaction_ms_p99": quantile(whole, 0.99),
		"commit_ms_p50": quantile(commit, 0.5), "commit_ms_p99": quantile(commit, 0.99),
	}
	if *pids != "" && len(all) > 0 {
		figures["broker_cpu_ms_per_commit"] = cpu * 1000 / float64(len(all))
	}
	must(json.NewEncoder(os.Stdout).Encode(figures))
}

// cpuSeconds is the CPU time of all brokers so far.
func cpuSeconds() float64 {
	total := 0.0
	for _, pid := range strings.FieldsFunc(*pids, func(c rune) bool { return c == ',' }) {
		stat, err := os.ReadFile("/proc/" + pid + "/stat")
		must(err)
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		user, err := strconv.ParseFloat(fields[11], 64)
		must(err)
		system, err := strconv.ParseFloat(fields[12], 64)
		must(err)
		total += (user + system) / ticksPerS
	}
	return total
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
