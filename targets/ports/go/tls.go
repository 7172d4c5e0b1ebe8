// SPDX-License-Identifier: Apache-2.0
//
// The calls of tls. What crypto/tls does not have is answered by no handler, and so `unsupported`: update-keys,
// renegotiate, alert; and external PSKs. Sessions have no bytes before Go 1.21: they stay here, a ticket is a number.

package main

import (
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"fmt"
)

var versionNames = map[uint16]string{tls.VersionTLS12: "1.2", tls.VersionTLS13: "1.3"}

var ends = map[string]*end{}
var sessions []*tls.ClientSessionState

func tlsOpen(c *call) string {
	if c.text("psk-key") != "" {
		return "unsupported"
	}
	e := &end{turns: make(chan string), resume: make(chan struct{}), pooled: c.text("mode") == "reused"}
	if c.text("ticket") != "" {
		e.offered = sessions[binary.BigEndian.Uint16(c.bytes("ticket"))]
	}
	if c.text("role") == "server" {
		e.tls = tls.Server(e, e.config(c))
	} else {
		e.tls = tls.Client(e, e.config(c))
	}
	ends[c.text("id")] = e
	go e.run()
	return "ok"
}

func (e *end) handshake(c *call) string {
	input := c.bytes("input")
	e.in.Write(input)
	status, again := "ok", e.shaking
	if !e.finished || again || e.ended != "" {
		status = e.step()
	}
	if again && !e.shaking && e.ended == "" {
		status = "ok" // it waits for what comes behind the handshake
	}
	return fmt.Sprintf("%s consumed=%d%s", status, len(input), e.token())
}

// write is for calls that send: they come from the caller's own goroutine, as the other one waits in Read.
func (e *end) write(send func() error) string {
	status := e.dead()
	if status == "" && (!e.finished || e.shaking || e.shut) {
		status = "bad-state"
	} else if status == "" {
		status = "ok"
		if err := send(); err != nil {
			status = "protocol"
		}
	}
	return status + e.token()
}

func (e *end) encrypt(c *call) string {
	return e.write(func() error {
		_, err := e.tls.Write(c.bytes("plain"))
		return err
	})
}

func (e *end) shutdown(*call) string {
	return e.write(func() error {
		e.shut = true
		return e.tls.CloseWrite()
	})
}

func (e *end) decrypt(c *call) string {
	if !e.finished && e.ended == "" {
		return "bad-state"
	}
	e.in.Write(c.bytes("input"))
	status := e.step()
	if e.shaking {
		status = "renegotiate"
	}
	plain := hex.EncodeToString(e.plain)
	e.plain = e.plain[:0]
	return status + " plain=" + plain + e.token()
}

func (e *end) setIdentity(c *call) string {
	e.identity = identity(c)
	return "ok"
}

func (e *end) exportTicket(*call) string {
	if status := e.dead(); status != "" {
		return status
	}
	if e.session == nil {
		return "bad-state"
	}
	sessions = append(sessions, e.session)
	return ok("ticket", binary.BigEndian.AppendUint16(nil, uint16(len(sessions)-1)))
}

func (e *end) info(*call) string {
	if !e.finished || e.shaking {
		return "ok" + e.alerts
	}
	state := e.tls.ConnectionState()
	resumed, peer := "no", ""
	if state.DidResume {
		resumed = "yes"
	}
	if len(state.PeerCertificates) > 0 {
		peer = hex.EncodeToString(state.PeerCertificates[0].Raw)
	}
	return fmt.Sprintf("ok version=%s cipher-suite=%d resumed=%s alpn=%x peer-certificate=%s%s",
		versionNames[state.Version], state.CipherSuite, resumed, state.NegotiatedProtocol, peer, e.alerts)
}

func init() {
	resets = append(resets, func() {
		for _, e := range ends {
			e.close()
		}
		ends, sessions = map[string]*end{}, nil
	})
	for name, method := range map[string]func(*end, *call) string{
		"handshake": (*end).handshake, "encrypt": (*end).encrypt, "decrypt": (*end).decrypt, "info": (*end).info,
		"shutdown": (*end).shutdown, "set-identity": (*end).setIdentity, "export-ticket": (*end).exportTicket,
	} {
		method := method
		handlers["tls."+name] = func(c *call) string { return method(ends[c.text("id")], c) }
	}
	handlers["tls.open"] = tlsOpen
	handlers["tls.close"] = func(c *call) string {
		ends[c.text("id")].close()
		delete(ends, c.text("id"))
		return "ok"
	}
}
