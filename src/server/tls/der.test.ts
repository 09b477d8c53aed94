/** Tests that DER values are written as X.690 says: lengths, integers, bits, identifiers and times. */

import assert from 'node:assert/strict'
import test from 'node:test'
import {
  bitString,
  boolean,
  namedBits,
  objectIdentifier,
  octetString,
  sequence,
  taggedBytes,
  taggedMembers,
  time,
  unsignedInteger,
  utf8String,
} from './der.ts'

const hex = (bytes: Buffer) => bytes.toString('hex')

test('a length takes one byte below 128, and then as few as it needs', () => {
  const head = (bytes: number) => hex(octetString(Buffer.alloc(bytes)).subarray(0, -bytes || undefined))
  assert.equal(head(0), '0400')
  assert.equal(head(1), '0401')
  assert.equal(head(127), '047f')
  assert.equal(head(128), '048180')
  assert.equal(head(255), '0481ff')
  assert.equal(head(256), '04820100')
  assert.equal(head(65_535), '0482ffff')
  assert.equal(head(65_536), '0483010000')
})

test('an integer has as few bytes as it needs, and never becomes negative', () => {
  assert.equal(hex(unsignedInteger(Buffer.of(0))), '020100')
  assert.equal(hex(unsignedInteger(Buffer.of(0, 0, 0))), '020100')
  assert.equal(hex(unsignedInteger(Buffer.of(0, 0, 5))), '020105')
  assert.equal(hex(unsignedInteger(Buffer.of(0x7f))), '02017f')
  assert.equal(hex(unsignedInteger(Buffer.of(0x80))), '02020080')
  assert.equal(hex(unsignedInteger(Buffer.of(0, 0x80, 1))), '0203008001')
})

test('named bits are counted from the left, without trailing zeros', () => {
  assert.equal(hex(namedBits(0)), '03020780')
  assert.equal(hex(namedBits(5, 6)), '03020106')
  assert.equal(hex(namedBits(7)), '03020001')
  assert.equal(hex(namedBits(0, 8)), '0303078080')
  assert.equal(hex(bitString(Buffer.of(1, 2))), '0303000102')
})

test('object identifiers are written in base 128', () => {
  // From RFC 5480 and RFC 5758.
  assert.equal(hex(objectIdentifier('1.2.840.10045.3.1.7')), '06082a8648ce3d030107')
  assert.equal(hex(objectIdentifier('1.2.840.10045.4.3.2')), '06082a8648ce3d040302')
  assert.equal(hex(objectIdentifier('2.5.29.17')), '0603551d11')
  assert.equal(hex(objectIdentifier('1.3.6.1.5.5.7.3.1')), '06082b06010505070301')
})

test('a time has two digits for the year until 2049, and four after it', () => {
  assert.equal(time(new Date('2026-11-16T15:04:05.678Z')).toString('latin1'), '\x17\x0d261116150405Z')
  assert.equal(time(new Date('2049-12-31T23:59:59Z')).toString('latin1'), '\x17\x0d491231235959Z')
  assert.equal(time(new Date('2050-01-01T00:00:00Z')).toString('latin1'), '\x18\x0f20500101000000Z')
})

test('values hold values', () => {
  assert.equal(hex(sequence()), '3000')
  assert.equal(hex(sequence(boolean(true), boolean(false))), '30060101ff010100')
  assert.equal(hex(taggedMembers(3, utf8String('é'))), 'a3040c02c3a9')
  assert.equal(hex(taggedBytes(2, Buffer.from('a'))), '820161')
})
