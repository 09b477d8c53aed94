/** Calls the explorer's API over a socket, as the page does. */

import { request } from 'node:http'

export interface ApiReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field.
  readonly json: any
}

export interface AskOptions {
  readonly body?: unknown
  readonly rawBody?: string | Buffer
  readonly headers?: Readonly<Record<string, string | undefined>>
}

export type Ask = (method: string, path: string, options?: AskOptions) => Promise<ApiReply>

export function apiClient(endpoint: string, always: Readonly<Record<string, string>> = {}): Ask {
  return (method, path, { body, rawBody, headers = {} } = {}) => {
    const given = {
      ...(method === 'GET' ? {} : { 'x-mayfly-explorer': '1' }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...always,
      ...headers,
    }
    const sent = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
    return new Promise((resolve, reject) => {
      const req = request(`${endpoint}/_explorer/${path}`, { method, headers: sent }, res => {
        const chunks: Buffer[] = []
        res.on('data', chunk => chunks.push(chunk))
        res.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          const isJson = String(res.headers['content-type']).startsWith('application/json')
          const json =
            isJson && text !== '' && res.headers['content-encoding'] === undefined ? JSON.parse(text) : undefined
          resolve({ status: res.statusCode!, headers: res.headers, text, json })
        })
        res.on('error', reject)
      })
      req.on('error', reject)
      req.end(rawBody ?? (body === undefined ? undefined : JSON.stringify(body)))
    })
  }
}

export const C = (database: string, container: string) =>
  `api/databases/${encodeURIComponent(database)}/containers/${encodeURIComponent(container)}`
