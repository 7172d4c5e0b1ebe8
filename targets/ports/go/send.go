// SPDX-License-Identifier: Apache-2.0
//
// Sending: net.TCPConn, which waits and goes on after short writes by itself; below it is a socket that does not block,
// so that blocking= makes no difference.

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// segment is bytes, or a region of a file. A length of 0 has become "as far as it goes".
type segment struct {
	bytes []byte
	file  *os.File
	len   int64
	toEnd bool
}

var errTruncated = errors.New("the file is shorter than its region")

var sockets = map[string]*net.TCPConn{}

// copyFile gives the region to a writer: a TCPConn uses sendfile for it.
func (s *segment) copyFile(to io.Writer) (int64, error) {
	n, err := io.Copy(to, io.LimitReader(s.file, s.len))
	if err == nil && n < s.len && !s.toEnd {
		err = errTruncated
	}
	return n, err
}

// writeAll writes segment by segment.
func writeAll(to io.Writer, list []segment) (sent int64, err error) {
	for i := 0; err == nil && i < len(list); i++ {
		var n int64
		if list[i].file != nil {
			n, err = list[i].copyFile(to)
		} else {
			var written int
			written, err = to.Write(list[i].bytes)
			n = int64(written)
		}
		sent += n
	}
	return sent, err
}

// sequential: files go through memory, as a Writer without ReadFrom has no sendfile.
func sequential(conn *net.TCPConn, list []segment) (int64, error) {
	return writeAll(struct{ io.Writer }{conn}, list)
}

func copied(conn *net.TCPConn, list []segment) (int64, error) {
	var all bytes.Buffer
	_, short := writeAll(&all, list)
	n, err := all.WriteTo(conn)
	if err == nil {
		err = short
	}
	return n, err
}

// gathered sends runs of bytes by writev, and files between them by sendfile.
func gathered(conn *net.TCPConn, list []segment) (sent int64, err error) {
	var run net.Buffers
	flush := func() {
		n, failed := run.WriteTo(conn)
		sent, err = sent+n, failed
	}
	for i := 0; err == nil && i < len(list); i++ {
		if list[i].file == nil {
			run = append(run, list[i].bytes)
			continue
		}
		if flush(); err == nil {
			var n int64
			n, err = list[i].copyFile(conn)
			sent += n
		}
	}
	if err == nil {
		flush()
	}
	return sent, err
}

// buffered is what Go programs do: small writes are joined, large ones and files pass by.
func buffered(conn *net.TCPConn, list []segment) (int64, error) {
	writer := bufio.NewWriter(conn)
	accepted, err := writeAll(writer, list)
	if failed := writer.Flush(); failed != nil {
		err = failed
	}
	return accepted - int64(writer.Buffered()), err
}

var ways = map[string]func(*net.TCPConn, []segment) (int64, error){
	"sequential": sequential, "copied": copied, "gathered": gathered, "packets": gathered, "auto": buffered,
}

// openFile takes OFFSET:LEN:PATH.
func openFile(value string) segment {
	fields := strings.SplitN(value, ":", 3)
	offset, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		panic(err)
	}
	size, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		panic(err)
	}
	file, err := os.Open(fields[2])
	if err != nil {
		panic(err)
	}
	if _, err = file.Seek(offset, io.SeekStart); err != nil {
		panic(err)
	}
	if size == 0 {
		return segment{file: file, len: math.MaxInt64, toEnd: true}
	}
	return segment{file: file, len: size}
}

func sendStatus(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, errTruncated):
		return "truncated"
	case errors.Is(err, syscall.ECONNRESET):
		return "reset"
	case errors.Is(err, syscall.EPIPE):
		return "broken-pipe"
	}
	return "system"
}

func sendList(c *call) string {
	var list []segment
	for _, w := range c.words {
		switch w.key {
		case "bytes":
			list = append(list, segment{bytes: unhex(w.value)})
		case "file":
			s := openFile(w.value)
			defer s.file.Close()
			list = append(list, s)
		}
	}
	sent, err := ways[c.text("way")](sockets[c.text("id")], list)
	return fmt.Sprintf("%s sent=%d", sendStatus(err), sent)
}

func sendOpen(c *call) string {
	conn, err := net.DialTCP("tcp4", nil, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(c.number("port"))})
	if err == nil {
		err = conn.SetWriteBuffer(int(c.number("sndbuf")))
	}
	if err != nil {
		return "system"
	}
	sockets[c.text("id")] = conn
	return "ok"
}

func init() {
	resets = append(resets, func() {
		for id, conn := range sockets {
			conn.Close()
			delete(sockets, id)
		}
	})
	handlers["send.open"] = sendOpen
	handlers["send.list"] = sendList
	handlers["send.close"] = func(c *call) string {
		sockets[c.text("id")].Close()
		delete(sockets, c.text("id"))
		return "ok"
	}
}
