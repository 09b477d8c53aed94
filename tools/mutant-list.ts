/** Small mistakes in the rules of time to live, durability and authorization; the tests that must notice. */

export interface Mutant {
  readonly file: string
  /** Text that the file contains exactly once. */
  readonly from: string
  readonly to: string
  readonly mistake: string
  /** Each must pass without the mistake; one of them must fail with it. */
  readonly tests: readonly string[]
}

const living = ['src/ttl/living.test.ts', 'src/ttl/lifespan.test.ts']
const contract = ['test/contract/sqlite.test.ts']
const purger = ['src/ttl/purger.test.ts']
const sqliteContract = ['test/contract/sqlite.test.ts', 'test/contract/verdict.test.ts']
const clock = ['src/base/clock.test.ts']
const admin = ['test/conformance/nosql/admin-guard.test.ts', 'test/cli/keys.test.ts']
const keys = ['test/cli/keys.test.ts']
const hosts = ['test/conformance/nosql/host-names.test.ts']
const requests = ['test/conformance/nosql/bad-requests.test.ts', 'test/conformance/nosql/permissions.test.ts']
const tokens = ['src/nosql/access/resource-token.test.ts', 'test/conformance/nosql/permissions.test.ts']
const turns = ['test/contract/sqlite-turns.test.ts', 'test/contract/sqlite.test.ts']
const waitingWrites = ['src/adapters/sqlite/waiting-writes.test.ts']
const entra = ['test/conformance/nosql/entra.test.ts']
const explorer = ['test/explorer/access.test.ts', 'test/attacks/http-table.test.ts']
const clockFaults = ['test/contract/clock-faults.test.ts']
const disk = ['test/contract/sqlite-disk.test.ts']
const faults = ['test/faults/faults.test.ts']
const downloads = ['test/conformance/nosql/slow-downloads.test.ts', 'src/base/slow-reader.test.ts']
const attacks = ['test/attacks/http-table.test.ts']
const mongoLogin = ['test/conformance/mongo/login.test.ts', 'test/conformance/mongo/users.test.ts']

const inFile = (file: string, tests: readonly string[], list: readonly (readonly [string, string, string])[]) =>
  list.map(([from, to, mistake]): Mutant => ({ file, from, to, mistake, tests }))

export const mutants: readonly Mutant[] = [
  ...inFile('src/ttl/living.ts', living, [
    ['item.ts > living.inheritedAfter', 'item.ts >= living.inheritedAfter', 'alive at its deadline, inherited'],
    ['item.deadline > living.ownAfter', 'item.deadline >= living.ownAfter', 'alive at its deadline, own'],
    ['defaultTtl > 0 ? Math.max', 'defaultTtl !== 0 ? Math.max', 'a default of -1 counts as seconds'],
    [
      'Math.max(inheritedDeadAt, moment - defaultTtl)',
      'moment - defaultTtl',
      'the mark of inherited deaths is forgotten',
    ],
    [
      'defaultTtl !== null ? Math.max(ownDeadAt, moment) : ownDeadAt',
      'Math.max(ownDeadAt, moment)',
      'own ttl counts while expiry is off',
    ],
  ]),
  ...inFile('src/ttl/lifespan.ts', living, [
    ['Math.max(inheritedDeadAt, moment - before)', 'inheritedDeadAt', 'a longer default revives the dead'],
    ['before !== null ? Math.max(ownDeadAt, moment) : ownDeadAt', 'ownDeadAt', 'switching expiry off revives the dead'],
    ['if (ttl === -1) return neverDeadline', 'if (ttl === -1) return null', 'ttl -1 inherits'],
    ['(value as number) >= 1 &&', '(value as number) >= 0 &&', 'a ttl of 0 is accepted'],
    ['(value as number) <= ttlSecondsMax', '(value as number) <= 2 * ttlSecondsMax', 'a ttl beyond int32 is accepted'],
    ['(value === null && !options.strict)', 'value === null', 'strict accepts null'],
  ]),
  ...inFile(
    'src/ttl/lifespan.ts',
    ['test/conformance/mongo/ttl-dates.test.ts'],
    [['Math.min(until, ownDeadline', 'Math.max(until, ownDeadline', 'a document outlives its date']],
  ),
  ...inFile(
    'src/ttl/any-dead.ts',
    ['src/ttl/any-dead.test.ts', ...purger],
    [
      [
        'census.earliestInherited <= living.inheritedAfter',
        'census.earliestInherited < living.inheritedAfter',
        'the last second of a backlog is not seen',
      ],
      [
        'census.earliestOwn <= living.ownAfter',
        'census.earliestOwn < living.ownAfter',
        'the last second of own deaths is not seen',
      ],
    ],
  ),
  ...inFile('src/ttl/purger.ts', purger, [
    ['if (rows < 1) continue', 'if (rows < 0) continue', 'a sweep without budget'],
    ['return !this.isPaused && !this.#isClosed', 'return !this.#isClosed', 'a paused purger goes on'],
    ['this.#ledger.spend(container, removed * deleteRu)', '', 'purging is not paid for'],
  ]),
  ...inFile(
    'src/units/budget.ts',
    ['src/units/budget.test.ts'],
    [
      ['ruPerSecond - takenInLast', 'ruPerSecond', 'the purger takes what requests have used'],
      [
        'this.#takenRu + chargeRu > ruPerSecond',
        'this.#takenRu > ruPerSecond',
        'the last request of a second is never refused',
      ],
    ],
  ),
  ...inFile('src/base/clock.ts', clock, [
    ['this.#lastMs = Math.max(mark * 1000, wallMs)', 'this.#lastMs = wallMs', 'after a restart the clock goes back'],
    ['if (epochSeconds < this.#now)', 'if (epochSeconds < 0)', 'the manual clock goes back'],
  ]),
  ...inFile('src/adapters/verdict.ts', sqliteContract, [
    ['isAlive(living, present) ? present', 'present !== undefined ? present', 'a dead item stands in the way'],
    ['ifVersion !== alive.version', 'ifVersion > alive.version', 'an older version may replace'],
    [
      "if (kind === 'create') return 'exists'",
      "if (kind === 'create' && ifVersion === undefined) return 'exists'",
      'a conditional create replaces',
    ],
    ["kind === 'replace' || kind === 'delete' ? 'missing'", "kind === 'delete' ? 'missing'", 'a replace creates'],
  ]),
  ...inFile('src/adapters/sqlite/purge.ts', contract, [
    [
      "= { inherited: 'ts', own: 'deadline' } as const",
      "= { inherited: 'ts - 1', own: 'deadline - 1' } as const",
      'a sweep removes items a second too early',
    ],
    ["own: 'deadline IS NOT NULL'", "own: 'deadline IS NULL'", 'own deaths are never removed'],
  ]),
  ...inFile(
    'src/adapters/sqlite/file/settings.ts',
    ['src/adapters/sqlite/file/settings.test.ts'],
    [['PRAGMA synchronous = FULL;', 'PRAGMA synchronous = OFF;', 'commits are not synced']],
  ),
  ...inFile(
    'src/adapters/sqlite/turns.ts',
    ['test/contract/sqlite.test.ts', 'test/simulation/moments.test.ts', 'test/simulation/failed-commit.test.ts'],
    [
      [
        'if (now !== this.#timeRow.mark && this.#disk?.refusal === undefined) this.#storeTime(now)',
        '',
        'a second is shown before it is stored',
      ],
      ['if (isFatal(cause)) this.#fail(cause)', '', 'the store goes on after a failed fsync'],
      [
        'for (const { reject } of group) reject(error)',
        'for (const { resolve } of group) resolve(undefined as never)',
        'a failed commit is acknowledged',
      ],
    ],
  ),
  ...inFile(
    'src/adapters/sqlite/file/errors.ts',
    ['test/simulation/failed-commit.test.ts', 'test/contract/sqlite.test.ts'],
    [['primaryCode(error) === code.ioerr &&', 'false &&', 'an input or output error is not fatal']],
  ),
  ...inFile(
    'src/adapters/sqlite/file/disk-health.ts',
    ['test/faults/read-only.test.ts'],
    [
      ['if (!this.#isReadOnly) return false', 'return false', 'a sync that fails on a read-only disk ends the process'],
      [
        'until a restart; what is there is served.`, true,',
        'until a restart; what is there is served.`, false,',
        'the store writes again after a sync that failed',
      ],
      ['    this.#refusal = undefined\n', '', 'a disk that is writable again is not tried'],
    ],
  ),
  ...inFile('src/nosql/access/authorize.ts', requests, [
    ['if (key !== undefined) return key', 'return key ?? this.#keys.all[0]!', 'every signature is accepted'],
    ['    checkAge(ms)\n', '', 'old signatures are accepted'],
    ['hmac.isDigest(payload, token, prefix.length)', 'token.length > prefix.length', 'the signature is not compared'],
  ]),
  ...inFile('src/nosql/access/resource-token.ts', tokens, [
    ['!isReadOnly && given.length', 'given.length', 'a read-only key signs tokens that write'],
    ["(use.isRead || mode === 'all')", 'true', 'a token that reads may write'],
    ['machine.epochMs() >= expires * 1000', 'machine.epochMs() < 0', 'tokens never expire'],
    [
      'path.every((name, at) => use.path[at] === name)',
      'path.some((name, at) => use.path[at] === name)',
      'a token opens other containers',
    ],
    ['if (!isSame || !(await hasPermission(engine, permission)))', 'if (!isSame)', 'a token outlives its permission'],
  ]),
  ...inFile(
    'src/nosql/server.ts',
    [...keys, ...hosts],
    [
      ['if (key.isReadOnly) checkReadOnly(http, path)', '', 'a read-only key writes'],
      ["|| path[4] === 'permissions'", '', 'a read-only key sees tokens'],
      ['if (key.text === wellKnownKey) hostNames.check(headers.host, headers.origin)', '', 'DNS rebinding'],
    ],
  ),
  ...inFile('src/base/host-names.ts', hosts, [
    ["replace(/:\\d+$/, '')", "replace(/[:.].*$/, '')", 'a name that begins like ours is accepted'],
    ['=== host?.toLowerCase()) return', '!== undefined) return', 'every origin is accepted'],
  ]),
  ...inFile('src/base/account-keys.ts', keys, [
    ['this.#all = [...keys]', 'this.#all = [...keys, ...(this.#all ?? [])]', 'old keys stay valid'],
  ]),
  ...inFile('src/admin/guard.ts', admin, [
    ['if (key.isReadOnly && req.method', 'if (!key.isReadOnly && req.method', 'a read-only key may use the admin API'],
    ['keys.isWellKnown && isLoopback', 'isLoopback', 'loopback needs no key'],
    ['given !== undefined && key === undefined', 'false', 'on loopback a wrong key is taken for none'],
  ]),
  ...inFile('src/mongo/session/scram.ts', mongoLogin, [
    [
      "if (this.#proven === undefined) throw new LoginError('a wrong proof')",
      'this.#proven ??= this.#login.candidates[0]!',
      'every proof is accepted',
    ],
  ]),
  ...inFile(
    'src/mongo/dispatch.ts',
    [...mongoLogin, ...keys],
    [
      [
        'if (!client.isLoggedIn && command.isPublic !== true) {',
        'if (!client.isLoggedIn && command.isForAdmin === true) {',
        'commands without login',
      ],
      [
        '&& !logins.isValid(client.accountKey)) client.logOut()',
        ') client.keysSeen = keys.all',
        'a removed key stays logged in',
      ],
    ],
  ),
  ...inFile('src/mongo/access/authorize.ts', mongoLogin, [['|| !rights.allowsAll(needed)', '', 'roles are not asked']]),
  ...inFile('src/mongo/access/users.ts', mongoLogin, [
    [
      'found?.userId === named.userId ? found : undefined',
      'found',
      'a new user of an old name inherits its connections',
    ],
  ]),
  ...inFile('src/adapters/sqlite/waiting-writes.ts', waitingWrites, [
    ['(steps > groupWritesMax || bytes', '(bytes', 'a commit takes any number of small writes'],
    ['|| bytes > commitBytesMax || waiting', '|| waiting', 'a commit takes all large writes'],
    ['const isLarge = bytes >= heavyBytesMin ||', 'const isLarge = bytes < 0 ||', 'large writes go before small ones'],
  ]),
  ...inFile('src/adapters/sqlite/turns.ts', turns, [
    ['|| this.#bytesWritten > commitBytesMax) break', ') break', 'what a commit has written does not end it'],
    ['this.#waiting.putBack(group.slice(results.length))', '', 'writes that had no room are forgotten'],
  ]),
  ...inFile('src/nosql/access/entra-tokens.ts', entra, [
    [
      "if (!verify('sha256', signed, given, Buffer.from(signature, 'base64url'))) throw",
      "if (signature === '') throw",
      'the signature is not checked',
    ],
    ['if (alg !== key.algorithm) throw', 'if (alg === undefined) throw', 'the token chooses its algorithm'],
    ['!issuers.has(iss)', "iss === ''", 'every issuer is trusted'],
    ['&& audiences.has(each)', '', 'tokens for other services are accepted'],
    ['exp + skewSeconds <= now', 'exp + skewSeconds <= 0', 'tokens never expire'],
    ['nbf - skewSeconds <= now', 'nbf > 0', 'tokens are valid before their time'],
    ['      checkTimes(known.claims)\n', '', 'a token that was accepted before never expires'],
    ['    this.#remembered.clear()\n  }', '  }', 'a role that was taken away is still given'],
    ["found.includes('contributor') ?", 'found.length > 0 ?', 'everybody is a contributor'],
    ['isWellKnown: key.text === wellKnownKey', 'isWellKnown: false', 'DNS rebinding with the token of the emulator'],
  ]),
  ...inFile('src/nosql/access/entra-role.ts', entra, [
    ["if (role === 'contributor') return", 'if (role !== undefined) return', 'a reader writes'],
    ['if (isRead && (action !== undefined ||', 'if (isRead || (action !== undefined ||', 'every read is allowed'],
    ["|| path[4] === 'pkranges'", '|| path.length > 4', 'a token reads scripts'],
    ['isOne && path.length <= 4', 'path.length <= 4', 'a token lists databases'],
  ]),
  ...inFile(
    'src/base/memory-account.ts',
    ['src/base/memory-account.test.ts'],
    [
      ['this.#heldBytes + bytes > this.#bytesMax', 'bytes > this.#bytesMax', 'a connection passes its share'],
      ['if (all <= this.bytesMax * (1 - lastPart)) return true', 'return true', 'the whole is passed'],
      ['all <= this.bytesMax && heldBytes', 'heldBytes', 'many who hold little pass the whole'],
      ['    this.#take(0)\n    this.#bytes = 0', '    this.#bytes = 0', 'a lease that ends gives nothing back'],
      ['Atomics.store(this.#cells, cell, 0)', '', 'what a thread that died held is lost'],
      ['if (this.heldBytes >= this.bytesMax) throw this.full()', '', 'new work never waits'],
    ],
  ),
  ...inFile('src/explorer/access/guard.ts', explorer, [
    [
      'keys.isWellKnown && isLoopback(req.socket.remoteAddress)',
      'isLoopback(req.socket.remoteAddress)',
      'loopback needs no login',
    ],
    ['if (keys.isWellKnown) hostNames.check(host, origin)', 'if (keys.isWellKnown) return', 'DNS rebinding'],
    ['else checkOrigin(host, origin)', '', 'pages of others use a session'],
    ['if (headers[ownHeader] !== undefined) return', 'return', 'pages of others write'],
    ['if (!caller.mayRead) throw', 'if (caller.mayRead && false) throw', 'nobody has to log in'],
    ['session?.isReadOnly === false', 'session !== undefined', 'a read-only key writes'],
  ]),
  ...inFile('src/base/clock.ts', clock, [
    ['if (wallMs <= explainedMs + this.#boundMs) return', 'return', 'a step is believed, however large'],
    ['this.#sureMs = explainedMs', 'this.#sureMs = wallMs', 'sure time follows the step that is in doubt'],
    ['this.#sureMs += expectedMs - this.#lastMs + sleptMs', '', 'sure time stands still while in doubt'],
    ['expectedMs + Math.max(0, this.#sleptMs(monotonicMs) - followedMs)', 'expectedMs', 'a sleep is a doubt'],
    [
      'this.#lastMs = Math.max(wallMs, this.#sureMs)',
      'this.#lastMs = wallMs',
      'item time goes back to before sure time',
    ],
    ["if (isBack) this.#end('returned', doubt)", 'if (isBack) this.returns--', 'a clock that came back stays in doubt'],
    ["this.doubt = { ...doubt, kind: 'step' }", '', 'a second jump is no step'],
    ['monotonicMs >= this.#trustAtMs', 'true', 'a doubt of the start ends at once'],
    [
      'this.#lastMs - this.#sureMs <= downSecondsMax * 1000',
      'this.#lastMs > this.#sureMs',
      'nobody must decide after a long time without a server',
    ],
  ]),
  ...inFile('src/adapters/sqlite/upkeep.ts', clockFaults, [
    ['const sure = turns.sureAt(moment)', 'const sure = moment', 'a sweep removes by a time that is in doubt'],
  ]),
  ...inFile('src/adapters/sqlite/time-row.ts', clockFaults, [
    ['doubt === undefined ? [null', 'doubt !== undefined ? [null', 'a doubt is over after a restart'],
  ]),
  ...inFile('src/adapters/sqlite/file/wal-damage.ts', disk, [
    ['if (isBehindCommit) return true', '', 'damage in front of whole commits is not found'],
    ['if (!isOfThisWal) continue', '', 'frames of an older WAL count'],
    ['isBehindCommit = frame.readUInt32BE(4) > 0', 'isBehindCommit = true', 'a commit that was cut off is damage'],
    ['if (!isDamaged && !isBehindMark(directory)) return', 'if (!isDamaged) return', 'the mark is not asked'],
  ]),
  ...inFile('src/adapters/sqlite/file/end-mark.ts', disk, [
    ['Number(row.item_version) >= items.version', 'true', 'lost versions are not missed'],
    ['Number(sequence?.seq ?? 0) < newestContainer', 'newestContainer < 0', 'a lost container is not missed'],
    [
      'return !hasTables || !hasReached(db, mark)',
      'return hasTables && !hasReached(db, mark)',
      'an empty file is fine',
    ],
    ['row === undefined || Number', 'row !== undefined && Number', 'a container that was deleted counts as lost'],
    ['if (text.slice(numbersLength) !==', "if (text === '' && text !==", 'a torn mark is believed'],
    ['if (isWhole) removeMark(this.#directory)', '', 'a store that was closed leaves its mark'],
    ["'w', 0o600", "'w', 0o644", 'others can read the mark'],
  ]),
  ...inFile(
    'src/adapters/sqlite/file/read-untouched.ts',
    [...disk, 'test/cli/backup.test.ts'],
    [
      ['(file, { readOnly: true })', '(file)', 'looking at a damaged directory changes it'],
      ["url.search = 'immutable=1'", '', 'a check leaves files behind'],
      ['if (!hadMemory)', 'if (hadMemory)', 'a check of a file with a WAL leaves another one behind'],
    ],
  ),
  ...inFile('src/adapters/sqlite/open.ts', disk, [
    ['removeMark(directory)\n', '{}\n', 'lost writes must be accepted again and again'],
  ]),
  ...inFile(
    'src/adapters/sqlite/file/checkpoints.ts',
    ['test/contract/sqlite-checkpoints.test.ts', ...faults],
    [
      ['if (isFailedSync(error)) this', 'if (error === this) this', 'a failed sync of the thread is swallowed'],
      ['if (this.#failedSync !== undefined) throw this.#failedSync', '', 'a failed sync of the thread is not reported'],
    ],
  ),
  ...inFile('src/adapters/sqlite/store.ts', faults, [
    ['if (isStopped && file', 'if (isStopped && !isStopped && file', 'a store that has failed runs a checkpoint'],
  ]),
  ...inFile(
    'src/adapters/sqlite/file/settings.ts',
    ['test/contract/sqlite-forgets.test.ts'],
    [['PRAGMA secure_delete = ON;', 'PRAGMA secure_delete = FAST;', 'free pages keep what was purged']],
  ),
  ...inFile(
    'src/adapters/sqlite/file/directory.ts',
    ['test/cli/data-directory.test.ts'],
    [
      ['(stats.mode & writableByOthers) !== 0', 'false', 'a directory that everybody may write to is used'],
      ['const stats = lstatSync(directory)', "const stats = lstatSync(directory + '/.')", 'a link is followed'],
      ['const stats = lstatSync(file)', 'const stats = lstatSync(dirname(file))', 'a planted link is followed'],
      ['chmodSync(file, ownerOnly)', '', 'files of an earlier version stay open to others'],
      ["'ax', ownerOnly", "'ax', 0o644", 'others can read the data file'],
      ['{ mode: 0o700 }', '{ mode: 0o755 }', 'others can list the directory'],
      ['stats.isDirectory() ||', '', 'a folder loses its x bit'],
    ],
  ),
  ...inFile('src/admin/backup-call.ts', downloads, [
    ['{ mode: 0o700 }', '{ mode: 0o755 }', 'others can list the folder of a backup'],
    ["'wx', 0o600", "'wx', 0o644", 'others can read a backup'],
  ]),
  ...inFile('src/server/http-listener.ts', downloads, [
    ['if (res.socket?.writableNeedDrain === true) watch', 'if (res.socket === undefined) watch', 'a reader that stops'],
  ]),
  ...inFile('src/admin/streamed-answer.ts', downloads, [
    [
      'await drained(res)',
      "await new Promise(resolve => res.once('drain', resolve))",
      'a download that nobody reads stays for ever',
    ],
  ]),
  ...inFile('src/explorer/calls/export.ts', downloads, [
    [
      'await drained(res)',
      "await new Promise(resolve => res.once('drain', resolve))",
      'a download that nobody reads stays for ever',
    ],
  ]),
  ...inFile('src/nosql/server.ts', attacks, [
    ['if (isWellKnown) hostNames.check(headers.host, headers.origin)', '', 'DNS rebinding with a resource token'],
  ]),
]
