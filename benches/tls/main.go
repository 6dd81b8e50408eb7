// A load for one running broker, Apache Kafka or kafkastore, over TLS 1.3 or without: produces, fetches or connections.
// Prints one line of JSON: the rate, the latency of a request, and the CPU of the broker and of this program.
//
// The client shares two cores with the broker, so it does as little as it can. Go's crypto/tls makes the handshakes;
// then this program takes the socket and the keys of both directions (records.go) and carries the records itself.
// Produce requests are built and encrypted before the load begins (produce.go). Of a fetched answer only the records
// with its front are decrypted; the lengths in the heads of the others say where the answer ends (fetch.go). -decrypt
// decrypts them all. The topic exists already: nothing here creates one, or knows where its leader is.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sort"
	"time"
)

var (
	scenario   = flag.String("scenario", "produce", "produce, fetch or connect")
	address    = flag.String("address", "127.0.0.1:9093", "of the listener")
	pid        = flag.Int("broker-pid", 0, "the broker's process, whose CPU is counted")
	isTLS      = flag.Bool("tls", false, "TLS 1.3; else plaintext")
	suite      = flag.String("cipher", "TLS_AES_256_GCM_SHA384", "the cipher suite that the broker must choose")
	resume     = flag.Bool("resume", false, "connect: sessions are resumed")
	decryptAll = flag.Bool("decrypt", false, "fetch: every record is decrypted")
	topic      = flag.String("topic", "load", "exists already")
	partitions = flag.Int("partitions", 1, "of the topic")
	conns      = flag.Int("conns", 1, "connections")
	inflight   = flag.Int("inflight", 5, "Produce requests in flight on a connection")
	batchBytes = flag.Int("batch-bytes", 1<<20, "a batch's size at most")
	recordSize = flag.Int("record-bytes", 1024, "of a value")
	records    = flag.Int("records", 0, "records of a batch; 0: as many as fit")
	seconds    = flag.Float64("seconds", 3, "how long is measured at most")
	warmUp     = flag.Float64("warm-seconds", 0.5, "the load before that")
	maxMB      = flag.Float64("max-mb", 1e9, "the measurement ends after so many MB of batches")
	poolMB     = flag.Float64("pool-mb", 1000, "produce over TLS: what is encrypted beforehand")
)

func main() {
	flag.Parse()
	var (
		found figures
		err   error
	)
	switch *scenario {
	case "produce":
		found, err = produce()
	case "fetch":
		found, err = fetch()
	case "connect":
		found, err = connect()
	default:
		err = fmt.Errorf("-scenario=%s is not known; choose produce, fetch or connect", *scenario)
	}
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(found)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// figures is what is printed.
type figures struct {
	Seconds   float64 `json:"seconds"`
	Units     int64   `json:"units"` // requests, or connections
	Bytes     int64   `json:"bytes"` // of batches
	Acked     int64   `json:"acknowledged_records"`
	P50       float64 `json:"p50_ms"`
	P99       float64 `json:"p99_ms"`
	BrokerCPU float64 `json:"broker_cpu_s"`
	ClientCPU float64 `json:"client_cpu_s"`
	Others    float64 `json:"others_cpu_s"` // every other process of the machine
	Suite     string  `json:"cipher"`
	Resumed   float64 `json:"resumed"` // the share of the connections that resumed a session
}

// window is the time that is measured.
type window struct {
	began                   time.Time
	broker, client, machine float64
	units, bytes            int64
}

func begin(units, bytes int64) window {
	return window{time.Now(), processCPU(*pid), processCPU(os.Getpid()), machineCPU(), units, bytes}
}

// end closes the window; the arguments are totals, as begin's are.
func (w window) end(units, bytes int64, latencies []time.Duration) figures {
	broker := processCPU(*pid) - w.broker
	client := processCPU(os.Getpid()) - w.client
	found := figures{
		Seconds: time.Since(w.began).Seconds(), Units: units - w.units, Bytes: bytes - w.bytes,
		BrokerCPU: broker, ClientCPU: client, Others: machineCPU() - w.machine - broker - client,
	}
	if *isTLS {
		found.Suite = *suite
	}
	if len(latencies) > 0 {
		sort.Slice(latencies, func(a, b int) bool { return latencies[a] < latencies[b] })
		at := func(q float64) float64 {
			return float64(latencies[int(q*float64(len(latencies)-1))].Microseconds()) / 1000
		}
		found.P50, found.P99 = at(0.5), at(0.99)
	}
	return found
}
