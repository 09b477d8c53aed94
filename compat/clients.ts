/** The official clients: how to install each one and how to run its program, seen from this folder. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

type Command = readonly [program: string, ...args: string[]]

export interface Client {
  readonly name: string
  readonly package: string
  /** Prints the version of the toolchain. The client is left out where this command is missing. */
  readonly toolchain: Command
  /** The file that pins the version of the client, and where the version stands in it. */
  readonly pin: readonly [path: string, pattern: RegExp]
  readonly install: readonly Command[]
  readonly run: Command
}

export const clients: Readonly<Record<string, Client>> = {
  javascript: {
    name: 'JavaScript',
    package: '@azure/cosmos',
    toolchain: [process.execPath, '--version'],
    pin: ['../node_modules/@azure/cosmos/package.json', /"version": "([^"]+)"/],
    install: [],
    run: [process.execPath, 'javascript/story.ts'],
  },
  python: {
    name: 'Python',
    package: 'azure-cosmos',
    toolchain: ['python3', '--version'],
    pin: ['python/requirements.txt', /azure-cosmos==(\S+)/],
    install: [
      ['python3', '-m', 'venv', '.clients/python'],
      ['.clients/python/bin/pip', 'install', '--quiet', '--requirement', 'python/requirements.txt'],
    ],
    run: ['.clients/python/bin/python', 'python/story.py'],
  },
  java: {
    name: 'Java',
    package: 'com.azure:azure-cosmos',
    toolchain: ['mvn', '--version'],
    pin: ['java/pom.xml', /<artifactId>azure-cosmos<\/artifactId>\s*<version>([^<]+)/],
    install: [
      [
        'mvn',
        '--quiet',
        '--batch-mode',
        '--file=java/pom.xml',
        'compile',
        'dependency:copy-dependencies',
        '-DoutputDirectory=../.clients/java/lib',
      ],
    ],
    run: ['java', '--class-path', '.clients/java/classes:.clients/java/lib/*', 'Story'],
  },
  go: {
    name: 'Go',
    package: 'azcosmos',
    toolchain: ['go', 'version'],
    pin: ['go/go.mod', /\/azcosmos v(\S+)/],
    install: [['go', 'build', '-C', 'go', '-o', '../.clients/go/story', '.']],
    run: ['.clients/go/story'],
  },
  rust: {
    name: 'Rust',
    package: 'azure_data_cosmos',
    toolchain: ['cargo', '--version'],
    pin: ['rust/Cargo.toml', /azure_data_cosmos = \{ version = "=([^"]+)"/],
    install: [
      ['cargo', 'build', '--quiet', '--jobs=1', '--manifest-path=rust/Cargo.toml', '--target-dir=.clients/rust'],
    ],
    run: ['.clients/rust/debug/story'],
  },
  dotnet: {
    name: '.NET',
    package: 'Microsoft.Azure.Cosmos',
    toolchain: ['dotnet', '--version'],
    pin: ['dotnet/story.csproj', /Include="Microsoft.Azure.Cosmos" Version="([^"]+)"/],
    install: [['dotnet', 'build', '--verbosity=quiet', '--output=.clients/dotnet/bin', 'dotnet/story.csproj']],
    run: ['dotnet', '.clients/dotnet/bin/story.dll'],
  },
}

export function pinnedVersion({ pin: [path, pattern] }: Client): string {
  const found = pattern.exec(readFileSync(join(import.meta.dirname, path), 'utf8'))
  if (found === null) throw new Error(`${path} does not pin the client`)
  return found[1]!
}
