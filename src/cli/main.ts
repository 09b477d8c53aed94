/** The mayfly command: what it can do, and where its flags come from. */

import { Command } from 'commander'
import { MayflyError } from '../base/error.ts'
import { type Flag, type FlagValues, serverFlags, settings } from '../server/config.ts'
import { version } from '../server/version.ts'

export async function main(argv: readonly string[]): Promise<void> {
  const program = new Command('mayfly')
    .description('A document database in which data dies on time: Cosmos DB for NoSQL on your machine.')
    .version(version)
    .addHelpText('after', '\nThe flags of the server: mayfly serve --help')
    .showSuggestionAfterError()

  // With a word in front that is no command, commander would take it for an argument of this one.
  const isServing = argv[0]?.startsWith('-') ?? true
  withServerFlags(program.command('serve', { isDefault: isServing }))
    .description('run the server')
    .action(async flags => (await import('./serve.ts')).serve(settings(serverSettings(flags), process.env)))

  withServerFlags(program.command('exec'))
    .description('start a server in memory, run a command against it, stop: mayfly exec -- npm test')
    .argument('<command...>')
    .action(async (command, flags) => {
      const inMemory = flags.data === undefined && process.env.MAYFLY_DATA === undefined
      const given = { port: '0', mongoPort: '0', ...serverSettings(flags), ...(inMemory ? { memory: true } : {}) }
      await (await import('./exec.ts')).exec(command, settings(given, process.env))
    })

  const remote = (command: Command) =>
    command
      .option('--endpoint <url>', 'the server (default: COSMOS_ENDPOINT or http://127.0.0.1:8081)')
      .option('--key <base64>', 'its account key, when it is not the well-known one (default: COSMOS_KEY)')

  const clock = program.command('clock').description('show or move the clock of a running server')
  const remoteCommands = () => import('./remote.ts')
  remote(clock.command('show', { isDefault: true }))
    .description('the time items live by')
    .action(async flags => (await remoteCommands()).showClock(flags))
  remote(clock.command('advance <duration>'))
    .description('90d, 24h, 5m or 60s forward (needs --clock manual)')
    .action(async (duration, flags) => (await remoteCommands()).moveClock({ advance: duration }, flags))
  remote(clock.command('set <epochSeconds>'))
    .description('to this second (needs --clock manual)')
    .action(async (second, flags) => (await remoteCommands()).moveClock({ set: Number(second) }, flags))

  const ttl = program.command('ttl').description('life and death in a container of a running server')
  remote(ttl.command('status <database> <container>'))
    .description('how many live, how many wait to be removed')
    .action(async (database, container, flags) => (await remoteCommands()).ttlStatus(database, container, flags))
  remote(ttl.command('forecast <database> <container>'))
    .description('how many will die when')
    .option('--window <duration>', 'how far to look ahead', '24h')
    .option('--buckets <number>', 'into how many parts', '24')
    .action(async (database, container, flags) => (await remoteCommands()).ttlForecast(database, container, flags))
  remote(ttl.command('explain <database> <container> <id> <partitionKey>'))
    .description('why one item is alive or dead; the partition key as JSON, or plain text')
    .action(async (database, container, id, partitionKey, flags) =>
      (await remoteCommands()).ttlExplain({ database, container, id, partitionKey }, flags),
    )
  remote(ttl.command('preview <database> <container> <defaultTtl>'))
    .description('what a default of that many seconds (or -1, or off) would do; nothing is changed')
    .action(async (database, container, defaultTtl, flags) =>
      (await remoteCommands()).ttlPreview(database, container, defaultTtl, flags),
    )

  remote(program.command('purge'))
    .description('remove what is dead now, or pause and resume the purger')
    .argument('[database]')
    .argument('[container]')
    .option('--pause', 'stop purging in the background')
    .option('--resume', 'go on purging in the background')
    .action(async (database, container, flags) => (await remoteCommands()).purge(database, container, flags))

  program
    .command('migrate')
    .description(
      'move all data between a directory and PostgreSQL, or between two of a kind, as it is; resumes where it was',
    )
    .requiredOption('--from <directory or URL>', 'where the data is; no server may use it')
    .requiredOption('--to <directory or URL>', 'an empty directory, or a database without data of Mayfly')
    .action(async flags => (await import('./migrate.ts')).migrate(flags))

  program
    .command('cert')
    .description('write the certificate that clients must trust for https')
    .option('--data <directory>', 'of the server', process.env.MAYFLY_DATA ?? serverFlags.data.default)
    .option('--out <file>', 'instead of standard output')
    .action(async flags => (await import('./cert.ts')).cert(flags))

  try {
    await program.parseAsync(argv, { from: 'user' })
  } catch (error) {
    if (!(error instanceof MayflyError)) throw error
    process.stderr.write(`mayfly: ${error.message}\n`)
    process.exitCode = 1
  }
}

/**
 * Defaults are not given to commander: it could not tell them from what the user said, and variables stand
 * between.
 */
function withServerFlags(command: Command): Command {
  for (const flag of Object.values(serverFlags) as Flag[]) {
    command.option(flag.flags, flag.default === undefined ? flag.help : `${flag.help} (default: ${flag.default})`)
  }
  return command
}

/** Commander turns `--no-mongo` into `mongo: false`. */
function serverSettings({ mongo, ...flags }: Record<string, string | boolean>): FlagValues {
  return mongo === false ? { ...flags, noMongo: true } : flags
}
