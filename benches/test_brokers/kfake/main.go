// Brokers of kfake, one after another: prints the address of each when it is there; a line on stdin ends it, the next
// line starts another.
package main

import (
	"bufio"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kfake"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for {
		cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
		if err != nil {
			panic(err)
		}
		fmt.Println(cluster.ListenAddrs()[0])
		if !lines.Scan() {
			return
		}
		cluster.Close()
		fmt.Println("ended")
		if !lines.Scan() {
			return
		}
	}
}
