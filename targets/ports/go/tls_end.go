// SPDX-License-Identifier: Apache-2.0
//
// One end of a TLS connection: crypto/tls over memory. A tls.Conn waits inside its calls, so each end has a goroutine
// for the handshake and for reading. It and its caller take turns: one always waits for the other, on a channel.

package main

import (
	"bytes"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"time"
)

var tokens = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// end is what is below its tls.Conn, and its session cache.
type end struct {
	net.Conn // not set: crypto/tls calls none of the methods that are not below

	tls    *tls.Conn
	turns  chan string   // what the goroutine waits for, or says; closed when it has ended
	resume chan struct{} // the caller's answer to that

	in     bytes.Buffer
	out    *bytes.Buffer // nil: nothing to send
	pooled bool
	plain  []byte

	finished bool // the first handshake is done
	shaking  bool // a later one is under way: the tls.Conn has a lock that no other goroutine gets
	shut     bool
	closed   bool
	ended    string // what stopped the goroutine
	alerts   string // words of tls.info

	identity         *tls.Certificate
	offered, session *tls.ClientSessionState
}

func (e *end) yield(status string) {
	e.turns <- status
	<-e.resume
}

// step lets the goroutine go on until it yields or ends.
func (e *end) step() string {
	if e.ended == "" {
		e.resume <- struct{}{}
		if status, more := <-e.turns; more {
			return status
		}
	}
	return e.ended
}

func (e *end) run() {
	defer close(e.turns)
	defer func() {
		if problem := recover(); problem != nil {
			fmt.Fprintln(os.Stderr, "tls:", problem)
			e.ended = "engine"
		}
	}()
	<-e.resume
	if err := e.tls.Handshake(); err != nil {
		e.fail(err)
		return
	}
	e.finished = true
	e.yield("ok")
	room := make([]byte, 16384)
	for {
		n, err := e.tls.Read(room)
		e.plain = append(e.plain, room[:n]...)
		if err != nil {
			e.fail(err)
			return
		}
	}
}

// fail keeps why. Alerts are numbers of a type that crypto/tls does not export before Go 1.21.
func (e *end) fail(err error) {
	e.ended, e.shaking = "protocol", false
	if err == io.EOF {
		e.ended = "closed"
	}
	var op *net.OpError
	if errors.As(err, &op) {
		which := map[string]string{"remote error": "alert-received", "local error": "alert-sent"}[op.Op]
		e.alerts = fmt.Sprintf(" %s=%d", which, reflect.ValueOf(op.Err).Uint())
	}
}

// renegotiates tells whether Read is called for a new handshake. Only the stack knows: crypto/tls does it inside Read.
func renegotiates() bool {
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		if strings.HasSuffix(frame.Function, "tls.(*Conn).handleRenegotiation") {
			return true
		}
	}
	return false
}

func (e *end) Read(p []byte) (int, error) {
	for e.in.Len() == 0 && !e.closed {
		e.shaking = e.finished && renegotiates()
		e.yield("need-input")
	}
	if e.closed {
		return 0, net.ErrClosed
	}
	return e.in.Read(p)
}

func (e *end) Write(p []byte) (int, error) {
	if e.out == nil && e.pooled {
		e.out = tokens.Get().(*bytes.Buffer)
	} else if e.out == nil {
		e.out = new(bytes.Buffer)
	}
	return e.out.Write(p)
}

func (e *end) SetWriteDeadline(time.Time) error { return nil }

func (e *end) RemoteAddr() net.Addr { return &net.UnixAddr{Name: "memory"} }

func (e *end) Get(string) (*tls.ClientSessionState, bool) { return e.offered, e.offered != nil }

func (e *end) Put(_ string, session *tls.ClientSessionState) { e.session = session }

// credentials waits for an identity that comes late.
func (e *end) credentials() (*tls.Certificate, error) {
	for e.identity == nil && !e.closed {
		e.yield("need-credentials")
	}
	if e.closed {
		return nil, net.ErrClosed
	}
	return e.identity, nil
}

// token is what is to be sent now, as a word.
func (e *end) token() string {
	if e.out == nil {
		return " token="
	}
	text := hex.EncodeToString(e.out.Bytes())
	if e.pooled {
		e.out.Reset()
		tokens.Put(e.out)
	}
	e.out = nil
	return " token=" + text
}

// dead is the status that all calls answer from now on, or "": after a close_notify there may be more to send.
func (e *end) dead() string {
	if e.ended == "closed" {
		return ""
	}
	return e.ended
}

func (e *end) close() {
	e.closed = true
	e.step()
}
