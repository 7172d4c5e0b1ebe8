// SPDX-License-Identifier: Apache-2.0
//
// hmac and aead. A thread has a slot for each: in mode reused it keeps the keyed state, told apart by the key's bytes.

package main

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"hash"
)

var digests = map[string]func() hash.Hash{
	"sha1": sha1.New, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
}

type slotID struct{ mode, thread string }

func (c *call) slot() slotID { return slotID{c.text("mode"), c.text("thread")} }

type macSlot struct {
	alg  string
	key  []byte
	mac  hash.Hash
	open bool
}

type aeadSlot struct {
	key              []byte
	nonceLen, tagLen int
	aead             cipher.AEAD
}

var macSlots = map[slotID]*macSlot{}
var aeadSlots = map[slotID]*aeadSlot{}

// startMac opens a message. Reset goes back to the keyed state, which hash.Hash keeps.
func startMac(c *call) *macSlot {
	alg, key := c.text("alg"), c.bytes("key")
	slot := macSlots[c.slot()]
	if slot != nil && c.text("mode") == "reused" && slot.alg == alg && hmac.Equal(slot.key, key) {
		slot.mac.Reset()
	} else {
		slot = &macSlot{alg: alg, key: key, mac: hmac.New(digests[alg], key)}
		macSlots[c.slot()] = slot
	}
	slot.open = true
	return slot
}

func finishMac(c *call, slot *macSlot) string {
	if c.text("mode") == "fresh" {
		delete(macSlots, c.slot())
	}
	slot.open = false
	return ok("out", slot.mac.Sum(nil))
}

// openMac is the slot with an open message, or nil.
func openMac(c *call) *macSlot {
	if slot := macSlots[c.slot()]; slot != nil && slot.open {
		return slot
	}
	return nil
}

// newGCM is nil for what crypto/cipher cannot make: it sets the length of the nonce or of the tag, not both.
func newGCM(key []byte, nonceLen, tagLen int) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	var aead cipher.AEAD
	switch {
	case tagLen == 16:
		aead, err = cipher.NewGCMWithNonceSize(block, nonceLen)
	case nonceLen == 12:
		aead, err = cipher.NewGCMWithTagSize(block, tagLen)
	}
	if err != nil {
		panic(err)
	}
	return aead
}

func aeadFor(c *call, nonceLen int) cipher.AEAD {
	key, tagLen := c.bytes("key"), int(c.number("tag-len"))
	if c.text("mode") == "fresh" {
		return newGCM(key, nonceLen, tagLen)
	}
	slot := aeadSlots[c.slot()]
	if slot == nil || slot.nonceLen != nonceLen || slot.tagLen != tagLen || !hmac.Equal(slot.key, key) {
		slot = &aeadSlot{key, nonceLen, tagLen, newGCM(key, nonceLen, tagLen)}
		aeadSlots[c.slot()] = slot
	}
	return slot.aead
}

// place is where the output goes: over the text, or into memory of its own.
func place(c *call, text []byte) []byte {
	if c.text("in-place") == "yes" {
		return text[:0]
	}
	return nil
}

func init() {
	resets = append(resets, func() {
		macSlots = map[slotID]*macSlot{}
		aeadSlots = map[slotID]*aeadSlot{}
	})
	handlers["hmac.digest"] = func(c *call) string {
		slot := startMac(c)
		for _, part := range c.parts("part") {
			slot.mac.Write(part)
		}
		return finishMac(c, slot)
	}
	handlers["hmac.start"] = func(c *call) string {
		startMac(c)
		return "ok"
	}
	handlers["hmac.update"] = func(c *call) string {
		slot := openMac(c)
		if slot == nil {
			return "bad-state"
		}
		slot.mac.Write(c.bytes("part"))
		return "ok"
	}
	handlers["hmac.finish"] = func(c *call) string {
		slot := openMac(c)
		if slot == nil {
			return "bad-state"
		}
		return finishMac(c, slot)
	}
	handlers["hmac.drop"] = func(c *call) string {
		delete(macSlots, c.slot())
		return "ok"
	}
	handlers["aead.seal"] = func(c *call) string {
		nonce, plain := c.bytes("nonce"), c.bytes("plain")
		aead := aeadFor(c, len(nonce))
		if aead == nil {
			return "unsupported"
		}
		return ok("out", aead.Seal(place(c, plain), nonce, plain, bytes.Join(c.parts("aad"), nil)))
	}
	handlers["aead.open"] = func(c *call) string {
		nonce, sealed := c.bytes("nonce"), c.bytes("sealed")
		aead := aeadFor(c, len(nonce))
		if aead == nil {
			return "unsupported"
		}
		plain, err := aead.Open(place(c, sealed), nonce, sealed, bytes.Join(c.parts("aad"), nil))
		if err != nil {
			return "bad-tag"
		}
		return ok("out", plain)
	}
	handlers["aead.drop"] = func(c *call) string {
		delete(aeadSlots, c.slot())
		return "ok"
	}
}
