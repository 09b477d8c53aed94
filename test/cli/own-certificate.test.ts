/** A certificate of the operator: used on both ports, checked at the start, renewed while the server runs. */

import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { connect } from 'node:tls'
import { silentLog } from '../../src/base/log.ts'
import { parseConfig, settings } from '../../src/server/config.ts'
import { startServer } from '../../src/server/start.ts'
import { makeLocalCertificate } from '../../src/server/tls/x509.ts'
import { runCli, serveCli } from '../support/run-cli.ts'
import { call } from '../support/signed-request.ts'
import { temporaryDirectory } from '../support/start-server.ts'

const dayMs = 86_400_000

function newCertificate(authorityName: string) {
  return makeLocalCertificate({
    authorityName,
    names: ['localhost', '127.0.0.1'],
    notBefore: new Date(Date.now() - dayMs),
    notAfter: new Date(Date.now() + dayMs),
  })
}

function files() {
  const directory = temporaryDirectory()
  const [certificate, key] = [join(directory, 'tls.crt'), join(directory, 'tls.key')]
  const write = (made: ReturnType<typeof newCertificate>) => {
    writeFileSync(certificate, made.leaf + made.authority)
    writeFileSync(key, made.key)
  }
  return { certificate, key, write, flags: ['--tls-cert', certificate, '--tls-key', key] }
}

/** The fingerprint of the certificate that a port shows to a client that trusts this authority. */
function shown(port: number, authority: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, ca: authority, servername: 'localhost' }, () => {
      resolve(socket.getPeerX509Certificate()!.fingerprint256)
      socket.destroy()
    })
    socket.once('error', reject)
  })
}

const fingerprint = (pem: string) => new X509Certificate(pem).fingerprint256

test('Both ports show the certificate of the operator, and the renewed one once the files are read again', async () => {
  const own = files()
  const [first, second] = [newCertificate('First'), newCertificate('Second')]
  own.write(first)
  const flags = { port: '0', mongoPort: '0', memory: true, tlsCert: own.certificate, tlsKey: own.key }
  await using server = await startServer(parseConfig(settings(flags, {})), silentLog, { holdsProcess: false })
  const ports = [server.endpoint, server.mongoUri!].map(url => Number(new URL(url).port))
  for (const port of ports) assert.equal(await shown(port, first.authority), fingerprint(first.leaf))
  assert.equal((await call(server.endpoint, 'GET', '/_explorer/emulator.pem')).text, first.authority)

  // A pair that does not belong together changes nothing.
  writeFileSync(own.key, second.key)
  await assert.rejects(server.reloadFiles(), /is not the key of the first certificate/)
  for (const port of ports) assert.equal(await shown(port, first.authority), fingerprint(first.leaf))

  own.write(second)
  await server.reloadFiles()
  for (const port of ports) assert.equal(await shown(port, second.authority), fingerprint(second.leaf))
})

test('SIGHUP reads the files again, and a pair that cannot be used does not stop the server', async () => {
  const own = files()
  const [first, second] = [newCertificate('First'), newCertificate('Second')]
  own.write(first)
  await using server = await serveCli(['--memory', '--port', '0', '--json', ...own.flags])
  const port = Number(new URL(server.endpoint).port)
  assert.equal(await shown(port, first.authority), fingerprint(first.leaf))
  writeFileSync(own.certificate, 'nonsense')
  server.signal('SIGHUP')
  own.write(second)
  server.signal('SIGHUP')
  while ((await shown(port, second.authority).catch(() => undefined)) !== fingerprint(second.leaf));
})

test('A certificate that cannot be used is refused at the start, with the reason', async () => {
  const [own, other] = [files(), newCertificate('Other')]
  const made = newCertificate('Own')
  own.write(made)
  const empty = join(temporaryDirectory(), 'empty')
  writeFileSync(empty, '')
  const cases: readonly (readonly [flags: string[], reason: RegExp])[] = [
    [['--tls-cert', own.certificate], /Give --tls-cert and --tls-key together/],
    [['--tls-key', own.key], /Give --tls-cert and --tls-key together/],
    [['--tls-cert', `${own.certificate}.none`, '--tls-key', own.key], /cannot be read \(--tls-cert\): ENOENT/],
    [['--tls-cert', empty, '--tls-key', own.key], /holds no certificate in PEM form/],
    [['--tls-cert', own.certificate, '--tls-key', empty], /holds no private key in PEM form/],
    [['--tls-cert', own.key, '--tls-key', own.key], /holds no certificate in PEM form/],
  ]
  for (const [flags, reason] of cases) {
    const { code, stderr } = await runCli(['--memory', '--port', '0', ...flags])
    assert.equal(code, 1)
    assert.match(stderr, reason)
    assert.doesNotMatch(stderr, /\n\s+at /)
  }
  writeFileSync(own.key, other.key)
  const { code, stderr } = await runCli(['--memory', '--port', '0', ...own.flags])
  assert.equal(code, 1)
  assert.match(stderr, /is not the key of the first certificate/)
})
