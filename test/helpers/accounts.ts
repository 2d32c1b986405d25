import { newFolder, stoppedAtEnd } from './cleanup.ts'
import { runCommand } from './in-process.ts'
import { type Answer, ask } from './mcp.ts'
import { type Ended, cleanEnv, firstLine, startProgram } from './program.ts'
import { once } from 'node:events'
import { join } from 'node:path'

export const password = 'a long and honest phrase'
const prefix = '/api/v1/auth'

/** Calls of the registry API as people's programs make them. */
export function createCaller(url: string) {
  function call(method: string, path: string, token?: string, body?: unknown): Promise<Answer> {
    return ask(url + prefix + path, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(token === undefined ? {} : { Authorization: `Bearer ${token}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  }

  async function good(answer: Promise<Answer>): Promise<any> {
    const { status, text, json } = await answer
    if (status >= 300) throw new Error(`HTTP ${status} ${text}`)
    return json
  }

  return {
    call,
    /** The status with the code of the problem, as in `401 token-revoked`. */
    async me(token: string): Promise<string> {
      const { status, json } = await call('GET', '/me', token)
      return status === 200 ? '200' : `${status} ${json?.code}`
    },
    login: (username: string, secret = password) =>
      call('POST', '/login', undefined, { username, password: secret }),
    refresh: (refresh_token: string) => call('POST', '/refresh', undefined, { refresh_token }),
    register: (username: string) =>
      good(
        call('POST', '/register', undefined, {
          username,
          email: `${username}@studio.example`,
          password,
        }),
      ),
    makeToken: async (token: string) =>
      (await good(call('POST', '/tokens', token, { name: 'ci' }))).token as string,
  }
}

/** A running accounts server. */
export interface RunningAccounts {
  readonly url: string
  readonly port: number
  readonly dataDir: string
  /** All it has written to stderr so far. */
  stderr(): string
  stop(): Promise<unknown>
}

export interface AccountsProcessSettings {
  flags?: readonly string[]
  /** Default: a new one. */
  dataDir?: string
  env?: Readonly<Record<string, string>>
}

export type AccountsProcess = Awaited<ReturnType<typeof startAccountsProcess>>

/** Starts the built program, as its user would, and waits for its line. Rejects with its stderr when it ends instead. */
export async function startAccountsProcess(settings: AccountsProcessSettings = {}) {
  const home = newFolder()
  const { flags = [], dataDir = join(home, 'data') } = settings
  const port = flags.includes('--port') ? [] : ['--port', '0']
  const args = ['registry', ...port, '--json', '--data-dir', dataDir]
  const env = cleanEnv({ HOME: home, ...settings.env })
  const child = startProgram([...args, ...flags], { env })
  let written = ''
  child.stderr?.setEncoding('utf8').on('data', text => (written += text))
  // With the last of what it wrote, unlike 'exit'.
  const exited = once(child, 'close').then(([code]): number | null => code)
  const line = await firstLine(child.stdout)
  if (line === '') {
    await exited
    throw new Error(`registry ended: ${written}`)
  }
  const said = JSON.parse(line)
  return {
    child,
    pid: said.pid,
    url: said.url,
    port: Number(new URL(said.url).port),
    /** The whole line. */
    said,
    dataDir,
    stderr: () => written,
    /** SIGTERM; resolves with the exit code, null when a signal ended it. */
    stop: stoppedAtEnd(() => {
      child.kill('SIGTERM')
      return exited
    }),
  }
}

export type AccountsOwner = ReturnType<typeof createAccountsOwner>

const makesCode = new Set(['reset-code', 'add'])

/** Whoever owns the files of a registry, and all that the program said to them. */
export function createAccountsOwner(usualDir: string) {
  let said = ''

  /** `registry <words> --data-dir <the folder>`; another folder may be named. */
  async function run(words: readonly string[], dataDir = usualDir): Promise<Ended> {
    const args = ['registry', ...words, '--data-dir', dataDir]
    const ended = await runCommand(args, { env: cleanEnv({ HOME: usualDir }) })
    said += ended.stderr + (words.some(word => makesCode.has(word)) ? '' : ended.stdout)
    return ended
  }

  return {
    run,
    /** The same with `--json`, parsed. Throws unless the command ended well. */
    async ask(words: readonly string[], dataDir?: string): Promise<any> {
      const { code, stdout, stderr } = await run([...words, '--json'], dataDir)
      if (code !== 0) throw new Error(`${words.join(' ')}: ${code} ${stdout}${stderr}`)
      return JSON.parse(stdout)
    },
    /** Everything said so far, but what is on stdout of a command that makes a code. */
    said: () => said,
  }
}
