/**
 * The servers that are compared: Mayfly, the bare servers and the peer. Also installs packages to compare
 * with.
 */

import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Answer, ask } from './http.ts'
import { type ServerProcess, startServer } from './processes.ts'
import { DATABASE, rawRequest, signedRequest } from './requests.ts'

const THIS_CHECKOUT = join(import.meta.dirname, '..')
const PEER_FOLDER = join(import.meta.dirname, '.peer')
const PEER_PACKAGE = '@vercel/cosmosdb-server'
const PEER_VERSION = '1.0.1'
/**
 * On the disk of the checkout: a temporary folder may be in memory, where a durable write costs nothing.
 */
const DATA_FOLDER = join(import.meta.dirname, 'mayfly-data')

export const PEER_NAME = `${PEER_PACKAGE} ${PEER_VERSION}`

function portIn(line: string, name: 'endpoint' | 'mongoUri'): number {
  if (!line.startsWith('{')) return 0
  const ready = JSON.parse(line) as { ready?: boolean; endpoint?: string; mongoUri?: string }
  const url = ready[name]
  return ready.ready === true && url !== undefined ? Number(new URL(url).port) : 0
}

function portOfJson(line: string): number {
  return portIn(line, 'endpoint')
}

/** A new folder on disk that is removed at the end of its scope. */
export function scratchFolder(): { readonly path: string } & Disposable {
  mkdirSync(DATA_FOLDER, { recursive: true })
  const path = mkdtempSync(join(DATA_FOLDER, 'run-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

export function startMayfly(data: string, ...more: readonly string[]): Promise<ServerProcess> {
  return startMayflyOf(THIS_CHECKOUT, ['--no-mongo', '--data', data, ...more], portOfJson)
}

/** The single executable that `npm run executable` made; undefined if nobody has. */
export function findExecutable(): string | undefined {
  const [found] = globSync(`release/mayfly-*-${process.platform}-${process.arch}/mayfly`, { cwd: THIS_CHECKOUT })
  return found && join(THIS_CHECKOUT, found)
}

export function startExecutable(executable: string, data: string): Promise<ServerProcess> {
  return startServer(['--port', '0', '--json', '--no-mongo', '--data', data], portOfJson, executable)
}

/** Mayfly, with the port of its Mongo side. */
export function startMayflyMongo(data: string, checkout = THIS_CHECKOUT): Promise<ServerProcess> {
  return startMayflyOf(checkout, ['--mongo-port', '0', '--data', data], line => portIn(line, 'mongoUri'))
}

export type MayflyProcess = ServerProcess & { readonly mongoPort: number }

/** Mayfly with both APIs. */
export async function startMayflyBoth(flags: readonly string[]): Promise<MayflyProcess> {
  let mongoPort = 0
  const server = await startMayflyOf(THIS_CHECKOUT, ['--mongo-port', '0', ...flags], line => {
    mongoPort = portIn(line, 'mongoUri')
    return portOfJson(line)
  })
  return Object.assign(server, { mongoPort })
}

/** The Mayfly of another checkout. */
export function startOtherMayfly(checkout: string, data: string): Promise<ServerProcess> {
  return startMayflyOf(checkout, ['--no-mongo', '--data', data], portOfJson)
}

function startMayflyOf(
  checkout: string,
  flags: readonly string[],
  portOf: (line: string) => number,
): Promise<ServerProcess> {
  const command = join(checkout, 'bin', 'mayfly.js')
  if (!existsSync(command)) throw new Error(`${command} is not there.`)
  return startServer([command, '--port', '0', '--json', '--log-level', 'error', ...flags], portOf)
}

/** The bare Mongo server: it answers every message with `reply`. */
export function startBareMongo(reply: Buffer): Promise<ServerProcess> {
  const script = join(import.meta.dirname, 'bare-mongo-server.ts')
  return startServer([script, reply.toString('base64')], portOfJson)
}

/** The bare HTTP server: it answers every request with `answer`. Node adds its own headers. */
export function startBare({ status, headers, body }: Answer): Promise<ServerProcess> {
  const own = new Set(['date', 'connection', 'keep-alive'])
  const kept = headers.flatMap((name, i) =>
    i % 2 === 0 && !own.has(name.toLowerCase()) ? [name, headers[i + 1]!] : [],
  )
  const answer: Answer = { status, headers: kept, body }
  return startServer([join(import.meta.dirname, 'bare-server.ts'), JSON.stringify(answer)], portOfJson)
}

/** The lower limit for a start: Node with a minimal server. */
export function startBareNode(): Promise<ServerProcess> {
  const script =
    "const s=require('node:http').createServer((_,r)=>r.end('{}')).listen(0,'127.0.0.1'," +
    "()=>console.log(JSON.stringify({ready:true,endpoint:'http://127.0.0.1:'+s.address().port})))"
  return startServer(['--input-type=commonjs', '--eval', script], portOfJson)
}

export type Installed = { readonly installed: true } | { readonly installed: false; readonly reason: string }

export function installPeer(): Installed {
  return install(PEER_PACKAGE, PEER_VERSION)
}

/** Installs a package on first use, outside our own dependencies. Returns the reason if that fails. */
export function install(name: string, version: string): Installed {
  if (existsSync(join(packageFolder(name), 'package.json'))) return { installed: true }
  mkdirSync(PEER_FOLDER, { recursive: true })
  const manifest = join(PEER_FOLDER, 'package.json')
  if (!existsSync(manifest)) writeFileSync(manifest, '{ "private": true }\n')
  console.log(`Installing ${name} ${version} into bench/.peer for comparison ...`)
  const { status, error, stderr } = spawnSync(
    'npm',
    ['install', '--no-audit', '--no-fund', '--ignore-scripts', `${name}@${version}`],
    { cwd: PEER_FOLDER, encoding: 'utf8', shell: process.platform === 'win32' },
  )
  if (status === 0) return { installed: true }
  const complaint = stderr?.split('\n').find(line => line.startsWith('npm error'))
  return { installed: false, reason: error?.message ?? complaint ?? `npm ended with ${status}` }
}

/** Where an installed package is. */
export function packageFolder(name: string): string {
  return join(PEER_FOLDER, 'node_modules', name)
}

export function startPeer(): Promise<ServerProcess> {
  return startServer([join(import.meta.dirname, 'peer-server.ts'), packageFolder(PEER_PACKAGE)], portOfJson)
}

/** The peer as its users start it. */
export function startPeerCommand(): Promise<ServerProcess> {
  const command = join(packageFolder(PEER_PACKAGE), 'lib', 'cli.js')
  return startServer([command, '--no-ssl', '--host', '127.0.0.1', '--port', '0'], line =>
    Number(/:(\d+)$/.exec(line)?.[1] ?? 0),
  )
}

async function expect(status: number, port: number, request: Buffer): Promise<Answer> {
  const answer = await ask(port, request)
  if (answer.status !== status) {
    const line = request.toString('latin1', 0, request.indexOf('\r'))
    throw new Error(`${line} was answered ${answer.status}, not ${status}: ${answer.body.slice(0, 300)}`)
  }
  return answer
}

export async function createDatabase(port: number): Promise<void> {
  await expect(201, port, signedRequest({ method: 'POST', path: '/dbs', body: JSON.stringify({ id: DATABASE }) }))
}

export async function createContainer(port: number, id: string, defaultTtl?: number, more: object = {}): Promise<void> {
  const partitionKey = { paths: ['/pk'], kind: 'Hash', version: 2 }
  const body = JSON.stringify({ id, partitionKey, defaultTtl, ...more })
  await expect(201, port, signedRequest({ method: 'POST', path: `/dbs/${DATABASE}/colls`, body }))
}

/** A call of the admin API, which is open on loopback. */
export async function admin(port: number, path: string, body: object): Promise<unknown> {
  const answer = await expect(200, port, rawRequest({ method: 'POST', path, body: JSON.stringify(body) }))
  return JSON.parse(answer.body)
}
