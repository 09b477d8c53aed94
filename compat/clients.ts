/** The official clients: how to install each one and how to run its program, seen from this folder. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Api } from './steps.ts'

type Command = readonly [program: string, ...args: string[]]

export interface Client {
  readonly api: Api
  /** The language, or what the client calls itself. */
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
    api: 'nosql',
    name: 'JavaScript',
    package: '@azure/cosmos',
    toolchain: [process.execPath, '--version'],
    pin: ['../node_modules/@azure/cosmos/package.json', /"version": "([^"]+)"/],
    install: [],
    run: [process.execPath, 'javascript/story.ts'],
  },
  python: {
    api: 'nosql',
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
    api: 'nosql',
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
    api: 'nosql',
    name: 'Go',
    package: 'azcosmos',
    toolchain: ['go', 'version'],
    pin: ['go/go.mod', /\/azcosmos v(\S+)/],
    install: [['go', 'build', '-C', 'go', '-o', '../.clients/go/story', '.']],
    run: ['.clients/go/story'],
  },
  rust: {
    api: 'nosql',
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
    api: 'nosql',
    name: '.NET',
    package: 'Microsoft.Azure.Cosmos',
    toolchain: ['dotnet', '--version'],
    pin: ['dotnet/story.csproj', /Include="Microsoft.Azure.Cosmos" Version="([^"]+)"/],
    install: [['dotnet', 'build', '--verbosity=quiet', '--output=.clients/dotnet/bin', 'dotnet/story.csproj']],
    run: ['dotnet', '.clients/dotnet/bin/story.dll'],
  },
  'mongo-node': {
    api: 'mongo',
    name: 'Node.js',
    package: 'mongodb',
    toolchain: [process.execPath, '--version'],
    pin: ['../node_modules/mongodb/package.json', /"version": "([^"]+)"/],
    install: [],
    run: [process.execPath, 'mongo/node/story.ts'],
  },
  mongoose: {
    api: 'mongo',
    name: 'Mongoose',
    package: 'mongoose',
    toolchain: [process.execPath, '--version'],
    pin: ['../node_modules/mongoose/package.json', /"version": "([^"]+)"/],
    install: [],
    run: [process.execPath, 'mongo/mongoose/story.ts'],
  },
  mongosh: {
    api: 'mongo',
    name: 'mongosh',
    package: 'mongosh',
    toolchain: ['npm', '--version'],
    pin: ['../test/clients/mongosh/package-lock.json', /"node_modules\/mongosh": \{\s*"version": "([^"]+)"/],
    install: [['npm', 'ci', '--silent', '--prefix', '../test/clients/mongosh']],
    run: [
      process.execPath,
      '../test/clients/mongosh/node_modules/.bin/mongosh',
      '--nodb',
      '--quiet',
      '--norc',
      '--file',
      'mongo/mongosh/story.js',
    ],
  },
  'mongo-python': {
    api: 'mongo',
    name: 'Python',
    package: 'pymongo',
    toolchain: ['python3', '--version'],
    pin: ['mongo/python/requirements.txt', /pymongo==(\S+)/],
    install: [
      ['python3', '-m', 'venv', '.clients/mongo-python'],
      ['.clients/mongo-python/bin/pip', 'install', '--quiet', '--requirement', 'mongo/python/requirements.txt'],
    ],
    run: ['.clients/mongo-python/bin/python', 'mongo/python/story.py'],
  },
  'mongo-java': {
    api: 'mongo',
    name: 'Java',
    package: 'org.mongodb:mongodb-driver-sync',
    toolchain: ['mvn', '--version'],
    pin: ['mongo/java/pom.xml', /<artifactId>mongodb-driver-sync<\/artifactId>\s*<version>([^<]+)/],
    install: [
      [
        'mvn',
        '--quiet',
        '--batch-mode',
        '--file=mongo/java/pom.xml',
        'clean',
        'compile',
        'dependency:copy-dependencies',
        '-DoutputDirectory=../../.clients/mongo-java/lib',
      ],
    ],
    run: ['java', '--class-path', '.clients/mongo-java/classes:.clients/mongo-java/lib/*', 'Story'],
  },
  'mongo-go': {
    api: 'mongo',
    name: 'Go',
    package: 'go.mongodb.org/mongo-driver/v2',
    toolchain: ['go', 'version'],
    pin: ['mongo/go/go.mod', /mongo-driver\/v2 v(\S+)/],
    install: [['go', 'build', '-C', 'mongo/go', '-o', '../../.clients/mongo-go/story', '.']],
    run: ['.clients/mongo-go/story'],
  },
  'mongo-rust': {
    api: 'mongo',
    name: 'Rust',
    package: 'mongodb',
    toolchain: ['cargo', '--version'],
    pin: ['mongo/rust/Cargo.toml', /mongodb = "=([^"]+)"/],
    install: [
      [
        'cargo',
        'build',
        '--quiet',
        '--jobs=1',
        '--manifest-path=mongo/rust/Cargo.toml',
        '--target-dir=.clients/mongo-rust',
      ],
    ],
    run: ['.clients/mongo-rust/debug/mongo-story'],
  },
  'mongo-dotnet': {
    api: 'mongo',
    name: '.NET',
    package: 'MongoDB.Driver',
    toolchain: ['dotnet', '--version'],
    pin: ['mongo/dotnet/story.csproj', /Include="MongoDB.Driver" Version="([^"]+)"/],
    install: [
      ['dotnet', 'build', '--verbosity=quiet', '--output=.clients/mongo-dotnet/bin', 'mongo/dotnet/story.csproj'],
    ],
    run: ['dotnet', '.clients/mongo-dotnet/bin/story.dll'],
  },
}

export function pinnedVersion({ pin: [path, pattern] }: Client): string {
  const found = pattern.exec(readFileSync(join(import.meta.dirname, path), 'utf8'))
  if (found === null) throw new Error(`${path} does not pin the client`)
  return found[1]!
}
