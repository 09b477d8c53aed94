/** The licences of the packages that are bundled into the executable, as one text. */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The folders of the packages that these files belong to. */
function packagesOf(files: Iterable<string>): string[] {
  const folders = new Set<string>()
  for (const file of files) {
    const [folder] = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(file) ?? []
    if (folder !== undefined) folders.add(folder)
  }
  return [...folders].sort()
}

export function licencesOf(files: Iterable<string>): string {
  const texts = packagesOf(files).map(folder => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    const file = readdirSync(folder).find(entry => /^licen[cs]e/i.test(entry))
    const text = file === undefined ? '' : `\n${readFileSync(join(folder, file), 'utf8').trim()}\n`
    return `${name} ${version} (${license})\n${text}`
  })
  const node = `Node.js ${process.version}: https://github.com/nodejs/node/blob/${process.version}/LICENSE\n`
  return [node, ...texts].join(`\n${'-'.repeat(70)}\n\n`)
}
