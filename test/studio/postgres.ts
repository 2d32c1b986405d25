import { spawnSync, type SpawnSyncOptions } from 'node:child_process'
import { existsSync } from 'node:fs'
import { appendFile, chown, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { atEnd, newFolder } from '../helpers/cleanup.ts'
import { type Pair, writePair } from '../helpers/certificate.ts'
import { freePort } from '../helpers/free-port.ts'
import { skipBecause } from '../helpers/skip.ts'

/** Where Debian and others put the programs of PostgreSQL. */
const programs = '/usr/lib/postgresql'

/** A PostgreSQL of a test file, in its own folder on a free port. */
export interface Postgres {
  /** An address of the database; `parameters` as in `options=…`. */
  url(parameters?: string): string
  /** The address of a new schema, for one test. */
  schema(): Promise<string>
  /** Runs statements; resolves with the rows of the only one. */
  run(sql: string, url?: string): Promise<readonly unknown[]>
  /** A role that may log in only with its password; the others need none. */
  requirePassword(role: string): Promise<void>
  /** From now on it also speaks TLS, with this certificate. Returns the file of the certificate. */
  useTls(pair: Pair): Promise<string>
  /** `immediate` is a crash. */
  restart(mode?: 'fast' | 'immediate'): void
  stop(mode?: 'fast' | 'immediate'): void
  start(): void
}

/** Starts one in a `before` hook; skips the suite, with the reason, where it is not installed. */
export async function startPostgres(context: Mocha.Context): Promise<Postgres> {
  const bin = await findPrograms()
  if (bin === null) skipBecause(context, 'PostgreSQL is not installed')
  const folder = newFolder()
  const run = runnerOf(folder, bin)
  const data = join(folder, 'data')
  const port = await freePort()
  await run.own(folder)
  run('initdb', '-D', data, '-U', 'app', '--auth=trust', '--no-sync', '-E', 'UTF8', '--locale=C')
  const lines = [`listen_addresses='127.0.0.1'`, `port=${port}`, `unix_socket_directories=''`]
  await appendFile(join(data, 'postgresql.conf'), lines.map(line => `${line}\n`).join(''))
  const log = join(folder, 'log')
  const start = () => run('pg_ctl', '-D', data, '-l', log, '-w', '-t', '30', 'start')
  const stop = (mode = 'fast') => run('pg_ctl', '-D', data, '-w', '-m', mode, 'stop')
  start()
  atEnd(() => stop('immediate'))
  const url = (parameters = '') =>
    `postgres://app@127.0.0.1:${port}/postgres${parameters === '' ? '' : `?${parameters}`}`
  let schemas = 0

  async function script(sql: string, at = url()): Promise<readonly unknown[]> {
    const { default: pg } = await import('pg')
    const client = new pg.Client({ connectionString: at })
    await client.connect()
    try {
      return (await client.query(sql)).rows
    } finally {
      await client.end()
    }
  }

  return {
    url,
    run: script,
    async schema() {
      const name = `test_${++schemas}`
      await script(`CREATE SCHEMA ${name}`)
      return url(`options=${encodeURIComponent(`-c search_path=${name}`)}`)
    },
    async requirePassword(role) {
      const file = join(data, 'pg_hba.conf')
      const line = `host all ${role} 127.0.0.1/32 scram-sha-256\n`
      await writeFile(file, line + (await readFile(file, 'utf8')))
      await script('SELECT pg_reload_conf()')
    },
    async useTls(pair) {
      const { certFile, keyFile } = await writePair(folder, pair)
      await run.own(keyFile)
      await script(`ALTER SYSTEM SET ssl_cert_file = '${certFile}'`)
      await script(`ALTER SYSTEM SET ssl_key_file = '${keyFile}'`)
      await script('ALTER SYSTEM SET ssl = on')
      await script('SELECT pg_reload_conf()')
      return certFile
    },
    restart(mode) {
      stop(mode)
      start()
    },
    stop,
    start,
  }
}

async function findPrograms(): Promise<string | null> {
  if (!existsSync(programs)) return null
  const versions = (await readdir(programs)).sort((a, b) => Number(b) - Number(a))
  const folder = versions.map(version => join(programs, version, 'bin'))[0] ?? ''
  return existsSync(join(folder, 'initdb')) ? folder : null
}

/** Runs programs of PostgreSQL, which refuses to run as root: then as the user of the package. */
function runnerOf(folder: string, bin: string) {
  const isRoot = process.getuid?.() === 0
  const id = (flag: string) => Number(spawnSync('id', [flag, 'postgres']).stdout)
  const user: SpawnSyncOptions = isRoot ? { uid: id('-u'), gid: id('-g') } : {}
  const run = (program: string, ...args: string[]): void => {
    // Not a pipe: the server would keep it open.
    const options: SpawnSyncOptions = { ...user, cwd: folder, stdio: 'ignore' }
    const { status, error } = spawnSync(join(bin, program), args, options)
    if (status !== 0) throw new Error(`${program} failed: ${error?.message ?? status}`)
  }
  async function own(path: string): Promise<void> {
    if (isRoot) await chown(path, Number(user.uid), Number(user.gid))
  }
  return Object.assign(run, { own })
}
