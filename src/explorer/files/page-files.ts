/**
 * Serves the built page: files that vite has made, compressed, with headers that forbid any other code.
 *
 * Files are read when they are first asked for and held in memory: the whole page is under a megabyte. Names
 * come from the listing of the folder, so no request can name another file.
 */

import { hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { RequestError } from '../../base/error.ts'
import type { PageSource } from './page-source.ts'

export const securityHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
    "font-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'cross-origin-resource-policy': 'same-origin',
}

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  png: 'image/png',
  ico: 'image/x-icon',
  woff2: 'font/woff2',
  json: 'application/json',
  map: 'application/json',
  txt: 'text/plain; charset=utf-8',
  webmanifest: 'application/manifest+json',
}

/** Smaller answers are not compressed: it would gain nothing. */
const compressBytesMin = 1024

interface PageFile {
  readonly type: string
  readonly etag: string
  readonly isHashed: boolean
  readonly bytes: Buffer
  readonly compressed: Partial<Record<Coding, Promise<Buffer> | Buffer>>
}

const codings = ['br', 'gzip'] as const
type Coding = (typeof codings)[number]
const suffixes: Readonly<Record<Coding, string>> = { br: '.br', gzip: '.gz' }
const compressors: Readonly<Record<Coding, (bytes: Buffer) => Promise<Buffer>>> = {
  br: bytes => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: bytes => promisify(gzip)(bytes, { level: 9 }),
}

export class PageFiles {
  readonly #source: PageSource
  #names: ReadonlySet<string> = new Set()
  #files = new Map<string, Promise<PageFile>>()
  #builtMs: number | undefined

  constructor(source: PageSource) {
    this.#source = source
  }

  /** `path` is what follows `/_explorer/`, decoded. */
  async serve(req: IncomingMessage, res: ServerResponse, path: string): Promise<void> {
    if (req.method !== 'GET' && req.method !== 'HEAD') {
      throw new RequestError('method_not_allowed', 'The files of the page can only be read.')
    }
    await this.#look()
    const isFile = this.#names.has(path)
    if (!isFile && path.startsWith('assets/')) throw new RequestError('not_found', `There is no file ${path}.`)
    if (!isFile && !this.#names.has('index.html')) {
      send(req, res, 200, { ...securityHeaders, 'content-type': types.html!, 'cache-control': 'no-store' }, notBuilt)
      return
    }
    const file = await this.#file(isFile ? path : 'index.html')
    const coding = file.bytes.length < compressBytesMin ? undefined : acceptedCoding(req.headers['accept-encoding'])
    const headers: Record<string, string> = {
      ...securityHeaders,
      'content-type': file.type,
      'cache-control': file.isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
      vary: 'accept-encoding',
      etag: file.etag,
    }
    if (isKnown(req.headers['if-none-match'], file.etag)) {
      res.writeHead(304, headers)
      res.end()
      return
    }
    if (coding !== undefined) headers['content-encoding'] = coding
    send(req, res, 200, headers, coding === undefined ? file.bytes : await this.#compressed(file, coding))
  }

  /** A new build replaces what is in memory. */
  async #look(): Promise<void> {
    const builtMs = await this.#source.builtMs()
    if (builtMs === this.#builtMs) return
    this.#names = new Set(builtMs === undefined ? [] : await this.#source.names())
    this.#files = new Map()
    this.#builtMs = builtMs
  }

  #file(name: string): Promise<PageFile> {
    let file = this.#files.get(name)
    if (file === undefined) {
      const reading = this.#read(name)
      reading.catch(() => this.#files.delete(name))
      this.#files.set(name, reading)
      file = reading
    }
    return file
  }

  async #read(name: string): Promise<PageFile> {
    const bytes = await this.#source.read(name)
    const compressed: PageFile['compressed'] = {}
    for (const coding of codings) {
      if (this.#names.has(name + suffixes[coding]))
        compressed[coding] = await this.#source.read(name + suffixes[coding])
    }
    const type = types[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream'
    return {
      type,
      etag: `"${hash('sha256', bytes, 'base64url').slice(0, 27)}"`,
      isHashed: name.startsWith('assets/'),
      bytes,
      compressed,
    }
  }

  #compressed(file: PageFile, coding: Coding): Promise<Buffer> | Buffer {
    file.compressed[coding] ??= compressors[coding](file.bytes)
    return file.compressed[coding]
  }
}

/** Our first encoding that the client accepts. */
export function acceptedCoding(header: string | string[] | undefined): Coding | undefined {
  const accepted = String(header ?? '')
    .split(',')
    .map(part => part.trim().toLowerCase())
    .filter(part => !/;\s*q=0(\.0*)?$/.test(part))
    .map(part => part.split(';', 1)[0]!.trim())
  return codings.find(coding => accepted.includes(coding))
}

function isKnown(header: string | undefined, etag: string): boolean {
  return header?.split(',').some(part => part.trim().replace(/^W\//, '') === etag) === true
}

function send(
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
): void {
  res.writeHead(status, { ...headers, 'content-length': String(body.length) })
  res.end(req.method === 'HEAD' ? undefined : body)
}

const notBuilt = Buffer.from(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Mayfly explorer</title></head><body>
<h1>The page is not built</h1>
<p>The server runs, but the files of its explorer are missing. In a checkout, build them:</p>
<pre>node web/build.js</pre>
<p>Then load this page again. The published package has them inside.</p>
<p>Meanwhile, <a href="/status">/status</a> shows databases and containers.</p>
</body></html>
`)
