import { parse } from '@oclif/core/parser'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Registry from '../../src/commands/registry/index.ts'
import { readAccountsSettings } from '../../src/commands/registry/settings.ts'
import { readServeSettings } from '../../src/commands/serve-settings.ts'
import Serve from '../../src/commands/serve.ts'
import { createLog } from '../../src/lib/cli/log.ts'
import { startAccountsServer } from '../../src/server/accounts-server.ts'
import { startServe } from '../../src/server/serve.ts'
import type { AccountsProcessSettings, RunningAccounts } from './accounts-process.ts'
import { withEnv } from './in-process.ts'
import { cleanEnv } from './program.ts'
import { type RunningServe, type ServeSettings, runningServe } from './serve-process.ts'

/**
 * `serve` with these flags in this process, from the sources: a tenth of the cost of a process of
 * its own. Not for a test of signals, memory or open files.
 */
export async function serveInProcess(
  settings: Omit<ServeSettings, 'within'> = {},
): Promise<RunningServe> {
  const { flags = [], env = {} } = settings
  const registryDir = settings.registryDir ?? (await mkdtemp(join(tmpdir(), 'serve-test-')))
  const { options, text } = collectedLog()
  const forget = async () => {
    if (settings.registryDir === undefined) await rm(registryDir, { recursive: true, force: true })
  }
  try {
    const handle = await withEnv(cleanEnv({ HOME: registryDir, ...env }), async () => {
      const { words, bounds } = wordsOf(flags)
      const parsed = await parse(['--registry-dir', registryDir, ...words], {
        flags: { ...Serve.baseFlags, ...Serve.flags },
      })
      const read = await readServeSettings(parsed.flags, process.env)
      return startServe({ ...read, limits: { ...read.limits, ...bounds }, ...options })
    })
    const said = {
      ...{ url: handle.url, host_url: handle.hostUrl },
      ...{ host_token_file: handle.hostTokenFile, instance_id: handle.instanceId },
    }
    return {
      ...runningServe(said, env.SERVICE_HOST_TOKEN),
      registryDir,
      output: () => ({ stdout: '', stderr: text() }),
      async stop() {
        await handle.stop()
        await options.log.flush(1000)
        await forget()
      },
    }
  } catch (error) {
    await forget()
    throw error
  }
}

/** `registry` with these flags in this process, as `serveInProcess` does it. */
export async function accountsInProcess(
  settings: AccountsProcessSettings = {},
): Promise<RunningAccounts> {
  const { flags = [], env = {} } = settings
  const home = await mkdtemp(join(tmpdir(), 'registry-home-'))
  const dataDir = settings.dataDir ?? join(home, 'data')
  const { options, text } = collectedLog()
  try {
    const handle = await withEnv(cleanEnv({ HOME: home, ...env }), async () => {
      const { words, bounds } = wordsOf(flags)
      const parsed = await parse(['--data-dir', dataDir, ...words], {
        flags: { ...Registry.baseFlags, ...Registry.flags },
      })
      const read = readAccountsSettings(parsed.flags, process.env)
      return startAccountsServer({ ...read, limits: { ...read.limits, ...bounds }, ...options })
    })
    return {
      ...{ url: handle.url, port: Number(new URL(handle.url).port), dataDir, stderr: text },
      async stop() {
        await handle.stop()
        await options.log.flush(1000)
        await rm(home, { recursive: true, force: true })
        return 0
      },
    }
  } catch (error) {
    await rm(home, { recursive: true, force: true })
    throw error
  }
}

/** The words of the command, and what `--bound=NAME=NUMBER` sets (see `programStart`). */
function wordsOf(flags: readonly string[]) {
  const isBound = (flag: string) => flag.startsWith('--bound=')
  const bounds = flags.filter(isBound).map(flag => flag.split('=').slice(1))
  return {
    words: [
      ...(flags.includes('--port') ? [] : ['--port', '0']),
      ...flags.filter(flag => !isBound(flag)),
    ],
    bounds: Object.fromEntries(bounds.map(([name, value]) => [name, Number(value)])),
  }
}

/** The log as the program writes it, kept as text. */
function collectedLog() {
  let text = ''
  const log = createLog({
    ...{ level: 'info', readable: false, colour: false },
    write(chunk, done) {
      text += chunk
      done()
    },
  })
  return { options: { log, accessLog: log.access }, text: () => text }
}
