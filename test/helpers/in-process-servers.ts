import { parse } from '@oclif/core/parser'
import { join } from 'node:path'
import Gateway, { readGatewaySettings } from '../../src/commands/gateway.ts'
import Registry, { readAccountsSettings } from '../../src/commands/registry/index.ts'
import { readServeSettings } from '../../src/commands/serve-settings.ts'
import Serve from '../../src/commands/serve.ts'
import { createLog } from '../../src/lib/cli/log.ts'
import { startAccountsServer } from '../../src/server/accounts/accounts-server.ts'
import { startGateway } from '../../src/server/gateway.ts'
import { startServe } from '../../src/server/serve.ts'
import type { AccountsProcessSettings, RunningAccounts } from './accounts.ts'
import { type GatewaySettings, type RunningGateway, linesOf } from './gateway-process.ts'
import { newFolder, stoppedAtEnd } from './cleanup.ts'
import { withEnv } from './in-process.ts'
import { cleanEnv } from './program.ts'
import { type RunningServe, type ServeSettings, runningServe } from './serve-process.ts'

/**
 * Starts `serve` with these flags in this process, from the sources, at a tenth of the cost of a
 * child process. Not for tests of signals, memory or open files.
 */
export async function serveInProcess(settings: ServeSettings = {}): Promise<RunningServe> {
  const { flags = [], env = {} } = settings
  const { registryDir = newFolder() } = settings
  const { options, text } = collectedLog()
  const handle = await withEnv(cleanEnv({ HOME: registryDir, ...env }), async () => {
    const argv = ['--registry-dir', registryDir, ...flags]
    const parsed = await parse(argsOf(argv), { flags: { ...Serve.baseFlags, ...Serve.flags } })
    const read = await readServeSettings(parsed.flags, process.env)
    return startServe({ ...bounded(read, flags), ...options })
  })
  const listening = {
    url: handle.url,
    host_url: handle.hostUrl,
    host_token_file: handle.hostTokenFile,
    instance_id: handle.instanceId,
    app_origins: handle.appOrigins.map(({ origin, token }) => {
      return { origin, token: token.reveal() }
    }),
  }
  return {
    ...runningServe(listening, env.SERVICE_HOST_TOKEN),
    registryDir,
    output: () => ({ stdout: '', stderr: text() }),
    stop: stoppedAtEnd(() => handle.stop()),
  }
}

/** Starts `registry` likewise. */
export async function accountsInProcess(
  settings: AccountsProcessSettings = {},
): Promise<RunningAccounts> {
  const { flags = [], env = {} } = settings
  const home = newFolder()
  const { dataDir = join(home, 'data') } = settings
  const { options, text } = collectedLog()
  const handle = await withEnv(cleanEnv({ HOME: home, ...env }), async () => {
    const argv = ['--data-dir', dataDir, ...flags]
    const parsed = await parse(argsOf(argv), {
      flags: { ...Registry.baseFlags, ...Registry.flags },
    })
    const read = readAccountsSettings(parsed.flags, process.env)
    return startAccountsServer({ ...bounded(read, flags), ...options })
  })
  return {
    url: handle.url,
    port: Number(new URL(handle.url).port),
    dataDir,
    stderr: text,
    stop: stoppedAtEnd(() => handle.stop()),
  }
}

/** Starts `gateway` likewise. Returns at once, as `startGatewayProcess` does. */
export function gatewayInProcess(settings: GatewaySettings): RunningGateway {
  const { port, registryDir, flags = [], env = {} } = settings
  const { options, text } = collectedLog()
  const cancel = new AbortController()
  const lines: any[] = []
  async function start() {
    const read = await withEnv(cleanEnv({ HOME: registryDir, ...env }), async () => {
      const argv = ['--port', String(port), '--registry-dir', registryDir, ...flags]
      const parsed = await parse(argsOf(argv), {
        flags: { ...Gateway.baseFlags, ...Gateway.flags },
      })
      return readGatewaySettings(parsed.flags, process.env)
    })
    const onElection = (line: object) => void lines.push(line)
    const all = { ...bounded(read, flags), ...options, onElection }
    const handle = await startGateway(all, cancel.signal)
    lines.push({ event: 'listening', url: handle.url, instance_id: handle.instanceId })
    return handle
  }
  const starting = start()
  return {
    ...linesOf(
      lines,
      starting.then(handle => handle.closed),
    ),
    stderr: text,
    stop: stoppedAtEnd(async () => {
      cancel.abort()
      const handle = await starting.catch(() => null)
      await handle?.stop()
    }),
  }
}

const isBound = (flag: string) => flag.startsWith('--bound=')

/** The arguments of the command. */
function argsOf(flags: readonly string[]): string[] {
  const port = flags.includes('--port') ? [] : ['--port', '0']
  return [...port, ...flags.filter(flag => !isBound(flag))]
}

/** Settings with the limits of `--bound=NAME=NUMBER` (see `programStart`). */
function bounded<Settings extends { readonly limits?: object }>(
  settings: Settings,
  flags: readonly string[],
): Settings {
  const bounds = flags.filter(isBound).map(flag => flag.split('=').slice(1))
  const moved = Object.fromEntries(bounds.map(([name, value]) => [name, Number(value)]))
  return { ...settings, limits: { ...settings.limits, ...moved } }
}

/** A log with the text that the program would write. */
function collectedLog() {
  let text = ''
  const log = createLog({
    level: 'info',
    readable: false,
    colour: false,
    write: line => void (text += line),
  })
  return { options: { log, accessLog: log.access }, text: () => text }
}
