// SPDX-License-Identifier: Apache-2.0
//
// A paldiff shim over Go's standard library: crypto/hmac, crypto/cipher, net.Buffers and sendfile, crypto/tls.
// It speaks the protocol of ../PROTOCOL.md. It does not have what Go 1.19 does not: nonces and tags of unusual length
// at once, external PSKs, key updates and alerts of the caller's own, renegotiation as a server, exported sessions.
package main

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

const areas = "hmac.fresh,hmac.reused,aead.fresh,aead.reused,tls," +
	"send.sequential,send.copied,send.gathered,send.packets,send.auto"

// call is a line of the protocol: a name, and words in their order.
type call struct {
	name  string
	words []word
}

type word struct{ key, value string }

func parse(line string) *call {
	fields := strings.Split(strings.TrimSuffix(line, "\n"), " ")
	c := &call{name: fields[0]}
	for _, field := range fields[1:] {
		key, value, _ := strings.Cut(field, "=")
		c.words = append(c.words, word{key, value})
	}
	return c
}

func (c *call) text(key string) string {
	for _, w := range c.words {
		if w.key == key {
			return w.value
		}
	}
	return ""
}

func (c *call) number(key string) int64 {
	n, err := strconv.ParseInt(c.text(key), 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// unhex leaves room behind the bytes for a tag, so that a message can be sealed where it is.
func unhex(text string) []byte {
	out := make([]byte, len(text)/2, len(text)/2+16)
	if _, err := hex.Decode(out, []byte(text)); err != nil {
		panic(err)
	}
	return out
}

func (c *call) bytes(key string) []byte { return unhex(c.text(key)) }

func (c *call) parts(key string) [][]byte {
	var out [][]byte
	for _, w := range c.words {
		if w.key == key {
			out = append(out, unhex(w.value))
		}
	}
	return out
}

func ok(key string, value []byte) string { return "ok " + key + "=" + hex.EncodeToString(value) }

// handlers are the calls by name; each file adds its own.
var handlers = map[string]func(*call) string{}

// resets forget what is left of a scenario.
var resets []func()

// answer is a status and words. A panic is the engine's.
func answer(c *call) (line string) {
	defer func() {
		if problem := recover(); problem != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", c.name, problem)
			line = "engine"
		}
	}()
	if handle := handlers[c.name]; handle != nil {
		return handle(c)
	}
	return "unsupported"
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<16)
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		request, number, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch request {
		case "paldiff":
			fmt.Fprintf(out, "shim 1 name=go version=%s areas=%s\n", runtime.Version(), areas)
		case "scenario":
			for _, reset := range resets {
				reset()
			}
		case "calls":
			count, _ := strconv.Atoi(number)
			for ; count > 0; count-- {
				if line, err = in.ReadString('\n'); err != nil {
					return
				}
				fmt.Fprintln(out, answer(parse(line)))
			}
		}
		if err := out.Flush(); err != nil {
			return
		}
	}
}
