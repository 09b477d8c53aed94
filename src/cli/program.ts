/** The subcommands of mayfly and their flags, from which docs/commands.md is generated. */

import { Command } from 'commander'
import { RequestError } from '../base/error.ts'
import {
  environmentVariable,
  type Flag,
  type FlagName,
  type FlagValues,
  places,
  serverFlags,
  settings,
} from '../server/config.ts'
import { version } from '../server/version.ts'

/** A server for one command takes free ports, keeps nothing, and leaves the output to the command. */
const execDefaults = { port: '0', mongoPort: '0', data: 'in memory', logLevel: 'warn' } as const

/**
 * Environment variables for servers must not lead tests to another server's ports, let alone to its data.
 */
const execIgnored = ['port', 'mongoPort', ...places] as const

const serverOfCommand = 'the server (default: COSMOS_ENDPOINT, otherwise 127.0.0.1 with MAYFLY_PORT, PORT or 8081)'

/** `argv`: the words after `mayfly`. */
export function mayflyProgram(argv: readonly string[]): Command {
  const program = new Command('mayfly')
    .description(
      'A document database in which data dies on time. It speaks the protocols of Cosmos DB for NoSQL and of ' +
        'MongoDB, and shows its data on a page, the explorer.',
    )
    .version(version)
    .addHelpText('after', '\nFor the flags of the server: mayfly serve --help')
    .showSuggestionAfterError()
    // Shorter than commander's own, which would leave no room for words in 80 columns.
    .configureHelp({ minWidthToWrap: 20, subcommandTerm: usage })
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error:/, 'mayfly:')) })

  // `serve` is the default only if the first argument is a flag, or if there is none. Otherwise commander
  // would take an unknown command for an argument of `serve`.
  const isServing = argv[0]?.startsWith('-') ?? true
  withServerFlags(program.command('serve', { isDefault: isServing }))
    .description('run the server')
    .action(async flags => (await import('./serve.ts')).serve(settings(serverSettings(flags), process.env)))

  withServerFlags(program.command('exec'), { defaults: execDefaults, without: ['json'] })
    .description('start a server in memory, run a command, and stop the server: mayfly exec -- npm test')
    .argument('<command...>', 'finds COSMOS_ENDPOINT, COSMOS_KEY, COSMOS_CONNECTION_STRING and MONGODB_URI set')
    .action(async (command, flags) => {
      const { data, ...defaults } = execDefaults
      const values = settings(serverSettings(flags), process.env, { defaults, ignored: execIgnored })
      await (await import('./exec.ts')).exec(command, values, { directory: flags.data })
    })

  const remote = (command: Command) =>
    command
      .option('--endpoint <url>', serverOfCommand)
      .option('--key <base64>', 'account key of the server, if it is not the well-known key (default: COSMOS_KEY)')

  const remoteJson = (command: Command) => remote(command).option('--json', 'print JSON on a terminal, too')

  const clock = program.command('clock').description('show or move the clock of a running server')
  const remoteCommands = () => import('./remote.ts')
  remoteJson(clock.command('show', { isDefault: argv[1]?.startsWith('-') ?? true }))
    .description('show the time that decides when items die')
    .action(async flags => (await remoteCommands()).showClock(flags))
  remoteJson(clock.command('advance <duration>'))
    .description('move the clock forward, by 2w, 90d, 24h, 5m, 60s or 60 (needs --clock manual)')
    .action(async (duration, flags) => (await remoteCommands()).moveClock({ advance: duration }, flags))
  remoteJson(clock.command('set <epochSeconds>'))
    .description('set the clock to this second since 1970 (needs --clock manual)')
    .action(async (second, flags) =>
      (await remoteCommands()).moveClock({ set: /^\d+$/.test(second) ? Number(second) : second }, flags),
    )
  remoteJson(clock.command('trust'))
    .description('confirm the time after the machine’s clock has jumped, so that dead items are removed again')
    .action(async flags => (await remoteCommands()).trustClock(flags))

  const ttl = program.command('ttl').description('show which items of a container are alive or dead, and why')
  remoteJson(ttl.command('status <database> <container>'))
    .description('count the items that are alive, and those that are dead but not yet removed')
    .action(async (database, container, flags) => (await remoteCommands()).ttlStatus(database, container, flags))
  remoteJson(ttl.command('forecast <database> <container>'))
    .description('show when items will die, and how many')
    .option('--window <duration>', 'how far to look ahead', '24h')
    .option('--buckets <number>', 'number of parts of the window', '24')
    .action(async (database, container, flags) => (await remoteCommands()).ttlForecast(database, container, flags))
  remoteJson(ttl.command('explain <database> <container> <id> [partitionKey]'))
    .description('say why an item is alive or dead; give the partition key, if there is one, as JSON or as plain text')
    .action(async (database, container, id, partitionKey, flags) =>
      (await remoteCommands()).ttlExplain({ database, container, id, partitionKey }, flags),
    )
  remoteJson(ttl.command('preview <database> <container> <defaultTtl>'))
    .description('show what a new default ttl (1h, 3600, -1 or off) would do, without changing it')
    .action(async (database, container, defaultTtl, flags) =>
      (await remoteCommands()).ttlPreview(database, container, defaultTtl, flags),
    )

  remoteJson(program.command('purge'))
    .description('remove dead items now, or pause and resume the purger')
    .argument('[database]')
    .argument('[container]')
    .option('--pause', 'stop purging in the background')
    .option('--resume', 'continue to purge in the background')
    .action(async (database, container, flags) => (await remoteCommands()).purge(database, container, flags))

  remote(program.command('import'))
    .description('read files (JSON Lines, JSON, CSV, gzip, zstd) into a container; continues after an interruption')
    .argument('[files...]', 'files, or - for standard input')
    .requiredOption('--database <name>', 'the database')
    .requiredOption('--container <name>', 'the container or collection')
    .option('--partition-key <path>', 'create the container, if it is missing, with this key: /pk, or /a,/b')
    .option('--api <nosql|mongo>', 'create the container, if it is missing, for this API')
    .option('--ttl <ttl>', 'default time to live of a container that is created: 1h, 3600, -1 or off')
    .option(
      '--mode <create|upsert|skip>',
      'what to do if the item exists: refuse the row, replace the item, or leave it',
      'create',
    )
    .option('--keep-ttl <remaining|reset|absolute>', 'how long exported rows live from now on', 'remaining')
    .option('--format <jsonl|json|csv>', 'the format of the files (default: by content and name)')
    .option('--from <connection string>', 'read a container of another account: AccountEndpoint=…;AccountKey=…;')
    .option('--from-database <name>', 'its database, if it has another name')
    .option('--from-container <name>', 'its container, if it has another name')
    .option('--state <folder>', 'where to keep the checkpoint and the refused rows (default: beside the file)')
    .option('--restart', 'forget an interrupted import of the same file')
    .option('--json', 'print the result as JSON')
    .action(async (files, flags) => (await import('./import.ts')).importFiles(files, flags))

  remote(program.command('export'))
    .description('write the items of a container, a database or everything into files')
    .option('--database <name>', 'only this database')
    .option('--container <name>', 'only this container or collection')
    .option('--output <file or folder>', 'where to write (default: standard output); .gz and .zst compress')
    .option('--format <jsonl|json|csv>', 'the format (default: by the name, otherwise jsonl)')
    .option('--query <text>', 'only the rows of this query: SELECT …, or a filter or pipeline of a collection')
    .option('--compress <gz|zst>', 'compress the files in a folder')
    .option('--no-keep-ttl', 'leave out when items die')
    .action(async flags => (await import('./export.ts')).exportItems(flags))

  const withOutput = (command: Command) =>
    remote(command)
      .option('--output <table|json|jsonl|csv>', 'the form (default: a table on a terminal, otherwise json)')
      .option('--json', 'the same as --output json')
  withOutput(program.command('query <text>'))
    .description('run SQL over a container, or a filter {…} or pipeline […] over a collection')
    .requiredOption('--database <name>', 'the database')
    .requiredOption('--container <name>', 'the container or collection')
    .action(async (text, flags) => (await import('./query.ts')).query(text, flags))
  withOutput(program.command('ls'))
    .description('list databases and containers, with their items and times to live')
    .argument('[database]')
    .action(async (database, flags) => (await import('./query.ts')).list(database, flags))

  remote(program.command('seed <file>'))
    .description('load databases, containers and items from a file or an exported folder into an empty server')
    .option('--json', 'print the result as JSON')
    .action(async (file, flags) => (await import('./seed.ts')).seed(file, flags))

  remote(program.command('backup <target>'))
    .description('copy all data of a running server, as of one moment, into a file (.db, .gz) or a new folder')
    .option('--json', 'print the result as JSON')
    .action(async (target, flags) => (await import('./backup.ts')).backup(target, flags))

  program
    .command('restore <source>')
    .description('make a data directory of a backup; checks it first, and never replaces data')
    .requiredOption('--data <directory>', 'a folder without data')
    .option('--json', 'print the result as JSON')
    .action(async (source, flags) => (await import('./backup.ts')).restore(source, flags))

  remote(program.command('check'))
    .description('compare items, indexes, unique keys, change log and counters of a server or a data directory')
    .option('--data <directory or file>', 'a data directory that no server uses, or a backup')
    .option('--json', 'print the result as JSON')
    .action(async flags => (await import('./backup.ts')).check(flags))

  program
    .command('migrate')
    .description('copy all data from one directory or PostgreSQL database to another; continues after an interruption')
    .requiredOption('--from <directory or URL>', 'where the data is; no server may be using it')
    .requiredOption('--to <directory or URL>', 'an empty directory, or a database in which Mayfly has no data')
    .action(async flags => (await import('./migrate.ts')).migrate(flags))

  program
    .command('cert')
    .description('print the authority that clients must trust for https')
    .option('--endpoint <url>', serverOfCommand)
    .option('--data <directory>', 'take it from the data directory of a server that does not run')
    .option('--out <file>', 'write to this file instead of standard output')
    .action(async flags => (await import('./cert.ts')).cert(flags))
  for (const group of [clock, ttl]) group.on('command:*', ([word]) => refuseWord(group, word))
  return program
}

/** A command with its arguments, such as `advance <duration>`. */
export function usage(command: Command): string {
  const words = command.registeredArguments.map(argument => {
    const dots = argument.variadic ? '...' : ''
    return argument.required ? `<${argument.name()}${dots}>` : `[${argument.name()}${dots}]`
  })
  return [command.name(), ...words].join(' ')
}

/**
 * The words after `help`, which comes first or after a group: `help clock set`, `clock help set`. Undefined:
 * no help is asked for.
 */
export function helpAsked(program: Command, argv: readonly string[]): readonly string[] | undefined {
  const [first, second, ...rest] = argv.filter(word => !word.startsWith('-'))
  if (first === 'help') return second === undefined ? [] : [second, ...rest]
  const isGroup = program.commands.some(each => each.name() === first && each.commands.length > 0)
  return isGroup && second === 'help' ? [first!, ...rest] : undefined
}

/** For `mayfly help clock set`. Commander itself shows the general help for a command that is not there. */
export function showHelp(program: Command, words: readonly string[]): void {
  let command = program
  for (const word of words) command = command.commands.find(each => each.name() === word) ?? refuseWord(command, word)
  command.outputHelp()
}

function refuseWord(group: Command, word: string): never {
  const words = group.commands.map(each => each.name()).join(', ')
  const ofGroup = group.parent === null ? '' : ` of '${group.name()}'`
  throw new RequestError('not_found', `There is no command '${word}'${ofGroup}. There are: ${words}.`)
}

/**
 * Commander must not know the defaults. Environment variables come before defaults, and commander would not
 * tell whether a value is a default or from the user.
 */
function withServerFlags(
  command: Command,
  {
    defaults = {},
    without = [],
  }: { readonly defaults?: Partial<Record<FlagName, string>>; readonly without?: readonly FlagName[] } = {},
): Command {
  for (const [name, flag] of Object.entries(serverFlags) as [FlagName, Flag][]) {
    const value = defaults[name] ?? flag.default
    if (without.includes(name)) continue
    command.option(flag.flags, value === undefined ? flag.help : `${flag.help} (default: ${value})`)
  }
  const variable = environmentVariable('rateLimit')
  const but = command.name() === 'exec' ? ' (but not the ports, and where the data is)' : ''
  return command.addHelpText('after', `\nEach flag has an environment variable${but}: --rate-limit is ${variable}.`)
}

/** Commander turns `--no-mongo` into `mongo: false`. */
function serverSettings({ mongo, ...flags }: Record<string, string | boolean>): FlagValues {
  return mongo === false ? { ...flags, noMongo: true } : flags
}
