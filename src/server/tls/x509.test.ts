/** Tests that the certificates are what strict verifiers ask for: Node's, OpenSSL's and Python's. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test from 'node:test'
import { checkServerIdentity, connect, createServer, type PeerCertificate } from 'node:tls'
import { makeLocalCertificate } from './x509.ts'

const options = {
  authorityName: 'A test',
  names: ['localhost', 'a-host.example', 'not_a_name', 'ü', `${'a'.repeat(64)}.b`, '', '127.0.0.1', '::1'],
  notBefore: new Date('2020-01-02T03:04:05Z'),
  notAfter: new Date('2049-12-31T23:59:59Z'),
}
const made = makeLocalCertificate(options)
const authority = new X509Certificate(made.authority)
const leaf = new X509Certificate(made.leaf)

test('the leaf is signed by the authority, is no authority itself, and has the key', () => {
  assert.equal(authority.ca, true)
  assert.equal(leaf.ca, false)
  assert.ok(authority.verify(authority.publicKey))
  assert.ok(leaf.verify(authority.publicKey))
  assert.ok(authority.checkIssued(authority))
  assert.ok(leaf.checkIssued(authority))
  assert.ok(leaf.checkPrivateKey(createPrivateKey(made.key)))
  assert.ok(!authority.checkPrivateKey(createPrivateKey(made.key)))
  assert.match(authority.subject, /^CN=A test [0-9a-f]{8}$/)
  assert.equal(leaf.issuer, authority.subject)
  assert.equal(leaf.subject, 'CN=localhost')
})

test('the times are those asked for, also those after 2049', () => {
  assert.deepEqual([leaf.validFromDate, leaf.validToDate], [options.notBefore, options.notAfter])
  assert.deepEqual([authority.validFromDate, authority.validToDate], [options.notBefore, options.notAfter])
  const later = makeLocalCertificate({ ...options, notAfter: new Date('2050-01-01T00:00:00Z') })
  assert.deepEqual(new X509Certificate(later.leaf).validToDate, new Date('2050-01-01T00:00:00Z'))
})

test('the leaf has the names and addresses that can be written, and only these', () => {
  assert.equal(
    leaf.subjectAltName,
    'DNS:localhost, DNS:a-host.example, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1',
  )
  assert.deepEqual(leaf.keyUsage, ['1.3.6.1.5.5.7.3.1'])
})

test('two certificates differ in names, numbers and keys', () => {
  const other = makeLocalCertificate(options)
  const otherAuthority = new X509Certificate(other.authority)
  assert.notEqual(otherAuthority.subject, authority.subject)
  assert.notEqual(otherAuthority.serialNumber, authority.serialNumber)
  assert.notEqual(leaf.serialNumber, authority.serialNumber)
  assert.ok(!leaf.verify(otherAuthority.publicKey))
})

test('Node connects by name and by address, and refuses another name', async () => {
  const server = createServer({ key: made.key, cert: made.leaf + made.authority }, socket => socket.end())
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const certificateFor = (name: string) =>
    new Promise<PeerCertificate>((resolve, reject) => {
      const socket = connect({ host: '127.0.0.1', port, servername: name, ca: made.authority }, () => {
        resolve(socket.getPeerCertificate())
        socket.destroy()
      })
      socket.on('error', reject)
    })
  const shown = await certificateFor('localhost')
  for (const name of ['localhost', 'a-host.example', '127.0.0.1', '::1']) {
    assert.equal(checkServerIdentity(name, shown), undefined, name)
  }
  assert.ok(checkServerIdentity('127.0.0.2', shown) instanceof Error)
  await assert.rejects(certificateFor('other.example'), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  server.close()
})

function run(command: string, args: readonly string[], input = ''): { status: number | null; text: string } {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', input })
  return { status, text: `${stdout}${stderr}` }
}

const hasOpenssl = run('openssl', ['version']).status === 0
const hasPython = run('python3', ['-c', 'import ssl; ssl.VERIFY_X509_STRICT']).status === 0

function inFiles(work: (files: { authority: string; leaf: string; key: string }) => void): void {
  const directory = mkdtempSync(join(tmpdir(), 'mayfly-x509-'))
  try {
    const files = {
      authority: join(directory, 'authority.pem'),
      leaf: join(directory, 'leaf.pem'),
      key: join(directory, 'key.pem'),
    }
    for (const [name, path] of Object.entries(files)) writeFileSync(path, made[name as keyof typeof made])
    work(files)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

test('OpenSSL verifies it with its strictest rules', { skip: hasOpenssl ? false : 'there is no openssl' }, () => {
  inFiles(files => {
    const verify = (...more: string[]) =>
      run('openssl', ['verify', '-x509_strict', '-purpose', 'sslserver', '-CAfile', files.authority, ...more])
    for (const name of [[], ['-verify_hostname', 'localhost'], ['-verify_ip', '127.0.0.1'], ['-verify_ip', '::1']]) {
      const { status, text } = verify(...name, files.leaf)
      assert.equal(status, 0, text)
      assert.match(text, /leaf\.pem: OK/)
    }
    assert.notEqual(verify('-verify_hostname', 'other.example', files.leaf).status, 0)
    const { text } = run('openssl', ['x509', '-in', files.leaf, '-noout', '-text'])
    assert.match(text, /Basic Constraints: critical\s+CA:FALSE/)
    assert.match(text, /Key Usage: critical\s+Digital Signature\n/)
    assert.match(text, /Subject Key Identifier/)
    assert.match(text, /Authority Key Identifier/)
    const { text: issuer } = run('openssl', ['x509', '-in', files.authority, '-noout', '-text'])
    assert.match(issuer, /Basic Constraints: critical\s+CA:TRUE, pathlen:0/)
    assert.match(issuer, /Key Usage: critical\s+Certificate Sign, CRL Sign\n/)
  })
})

test('Python verifies it with its strictest rules', { skip: hasPython ? false : 'there is no python3' }, () => {
  inFiles(files => {
    const program = `
import ssl, sys
authority, leaf, key = sys.argv[1:]
server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
server.load_cert_chain(leaf, key)
client = ssl.create_default_context(cafile=authority)
client.verify_flags |= ssl.VERIFY_X509_STRICT
for name in ['localhost', '127.0.0.1', '::1']:
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    c = client.wrap_bio(to_client, to_server, server_hostname=name)
    s = server.wrap_bio(to_server, to_client, server_side=True)
    done = set()
    while len(done) < 2:
        for side in (c, s):
            try:
                side.do_handshake()
                done.add(side)
            except ssl.SSLWantReadError:
                pass
    print(name, c.version())
`
    const { status, text } = run('python3', ['-', files.authority, files.leaf, files.key], program)
    assert.equal(status, 0, text)
    assert.equal(text.match(/TLSv1\.3/g)?.length, 3, text)
  })
})
