// CPU seconds out of /proc, in ticks of 10 ms.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

const ticksPerS = 100 // USER_HZ of Linux

// processCPU is the user and system time of a process so far, all its threads together; 0 for no process.
func processCPU(pid int) float64 {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return ticks(fields[11:13])
}

// machineCPU is the time of all processes so far: user, nice, system, irq, softirq.
func machineCPU() float64 {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(stat), "\n")
	fields := strings.Fields(line)
	return ticks(fields[1:4]) + ticks(fields[6:8])
}

func ticks(fields []string) float64 {
	total := 0.0
	for _, field := range fields {
		count, err := strconv.ParseFloat(field, 64)
		if err == nil {
			total += count
		}
	}
	return total / ticksPerS
}
