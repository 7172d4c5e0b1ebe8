// SPDX-License-Identifier: Apache-2.0
//
// What tls.open asks for, as a tls.Config.

package main

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"time"
)

var versions = map[string]uint16{"1.2": tls.VersionTLS12, "1.3": tls.VersionTLS13}

// ticketKey is shared by all servers, as behind a load balancer: a ticket is good for any of them.
var ticketKey [32]byte

func init() {
	if _, err := rand.Read(ticketKey[:]); err != nil {
		panic(err)
	}
}

func identity(c *call) *tls.Certificate {
	chain, err := x509.ParseCertificates(c.bytes("chain"))
	if err != nil {
		panic(err)
	}
	key, err := x509.ParsePKCS8PrivateKey(c.bytes("private-key"))
	if err != nil {
		panic(err)
	}
	out := &tls.Certificate{PrivateKey: key}
	for _, certificate := range chain {
		out.Certificate = append(out.Certificate, certificate.Raw)
	}
	return out
}

// verify sets whom the end trusts; with nobody to trust, all peers are taken.
func verify(config *tls.Config, c *call) {
	trusted, err := x509.ParseCertificates(c.bytes("trusted"))
	if err != nil {
		panic(err)
	}
	authorities := x509.NewCertPool()
	for _, certificate := range trusted {
		authorities.AddCert(certificate)
	}
	config.RootCAs, config.ClientCAs = authorities, authorities
	config.InsecureSkipVerify = len(trusted) == 0
	if c.text("require-peer") == "yes" && len(trusted) == 0 {
		config.ClientAuth = tls.RequireAnyClientCert
	} else if c.text("require-peer") == "yes" {
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
}

func (e *end) config(c *call) *tls.Config {
	config := &tls.Config{
		MinVersion: versions[c.text("version-min")], MaxVersion: versions[c.text("version-max")],
		ServerName:                  c.text("server-name"),
		ClientSessionCache:          e,
		DynamicRecordSizingDisabled: true, // records as large as they may be
		Renegotiation:               tls.RenegotiateFreelyAsClient,
	}
	config.SetSessionTicketKeys([][32]byte{ticketKey})
	if c.text("time") != "" {
		now := time.Unix(c.number("time"), 0)
		config.Time = func() time.Time { return now }
	}
	for wire := c.bytes("alpn"); len(wire) > 0; wire = wire[1+int(wire[0]):] {
		config.NextProtos = append(config.NextProtos, string(wire[1:1+int(wire[0])]))
	}
	verify(config, c)
	if c.text("late-identity") == "yes" {
		config.GetCertificate = func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return e.credentials() }
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return e.credentials() }
	} else if c.text("chain") != "" {
		config.Certificates = []tls.Certificate{*identity(c)}
	}
	return config
}
