import { newFolder } from './cleanup.ts'

import { type CommandOptions, runCommand } from './in-process.ts'
import { type Ended, cleanEnv, root } from './program.ts'
import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { type IncomingMessage, createServer, request } from 'node:http'
import { join } from 'node:path'
import { listening } from './listening.ts'

export interface Said extends Ended {
  readonly args: readonly string[]
}

export type AccountHome = ReturnType<typeof createAccountHome>

/** One person's machine: a configuration folder, and all that the program said there. */
export function createAccountHome(registry: string) {
  const folder = newFolder()
  const configPath = join(folder, 'service-cli', 'config.toml')
  const said: Said[] = []
  const env = (extra: NodeJS.ProcessEnv = {}) =>
    cleanEnv({ HOME: folder, XDG_CONFIG_HOME: folder, SERVICE_REGISTRY: registry, ...extra })

  function start(
    args: readonly string[],
    { env: extra, input }: CommandOptions = {},
  ): ChildProcess {
    const child = spawn(process.execPath, ['bin/run.js', ...args], {
      cwd: root,
      env: env(extra),
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
    })
    // The program may end without reading.
    child.stdin?.on('error', () => {})
    child.stdin?.end(input)
    return child
  }

  return {
    folder,
    configPath,
    env,
    start,
    /** Runs the command in this process. */
    async run(args: readonly string[], { env: extra, ...options }: CommandOptions = {}) {
      const ended = { args, ...(await runCommand(args, { ...options, env: env(extra) })) }
      said.push(ended)
      return ended
    },
    /** Takes what was said elsewhere (on a terminal) into account. */
    remember: (ended: Said) => void said.push(ended),
    config: () => readFileSync(configPath, 'utf8'),
    /** Where one of the secrets stands in any output, or in a file that is not the configuration. */
    leaks: (secrets: readonly string[]) => [
      ...said.flatMap(({ args, stdout, stderr }) =>
        found(secrets, stdout + stderr, `output of ${args[0]}`),
      ),
      ...filesBelow(folder)
        .filter(path => path !== configPath)
        .flatMap(path => found(secrets, readFileSync(path, 'latin1'), path)),
    ],
  }
}

function found(secrets: readonly string[], text: string, where: string): string[] {
  return secrets.some(secret => text.includes(secret)) ? [where] : []
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true })
    .map(name => join(folder, String(name)))
    .filter(path => statSync(path).isFile())
}

export type LiteralAccounts = Awaited<ReturnType<typeof startLiteralAccounts>>

/**
 * A registry that answers what the specification states and not a member more: login gives
 * `access_token` alone, as does registration, refresh takes the access token as Bearer, the
 * current user is `username` and `email`. Everything else is a bare 404.
 */
export async function startLiteralAccounts() {
  const accounts = new Map<string, { email: string; password: string }>()
  const tokens = new Map<string, string>()
  const asked: string[] = []
  const secrets: string[] = []
  let made = 0
  let refusal: { status: number; headers: Record<string, string> } | null = null

  function makeToken(username: string): string {
    const exp = Math.floor(Date.now() / 1000) + 86_400
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const signature = Buffer.from(`literal signature ${++made}`).toString('base64url')
    const token = `${part({ alg: 'ES256' })}.${part({ exp })}.${signature}`
    tokens.set(token, username)
    secrets.push(token)
    return token
  }

  function answer(route: string, body: string, bearer: string): { status: number; json?: object } {
    const username = tokens.get(bearer)
    switch (route) {
      case 'POST /api/v1/auth/register': {
        const { username, email, password } = JSON.parse(body)
        secrets.push(password)
        if (accounts.has(username)) return { status: 409 }
        accounts.set(username, { email, password })
        return { status: 201, json: { access_token: makeToken(username) } }
      }
      case 'POST /api/v1/auth/login': {
        const { username, password } = JSON.parse(body)
        secrets.push(password)
        if (accounts.get(username)?.password !== password) return { status: 401 }
        return { status: 200, json: { access_token: makeToken(username) } }
      }
      case 'POST /api/v1/auth/refresh': {
        if (username === undefined) return { status: 401 }
        // One rotation each: whoever comes with the old token is refused.
        tokens.delete(bearer)
        return { status: 200, json: { access_token: makeToken(username) } }
      }
      case 'GET /api/v1/auth/me': {
        const email = accounts.get(username ?? '')?.email
        return email === undefined ? { status: 401 } : { status: 200, json: { username, email } }
      }
      default:
        return { status: 404 }
    }
  }

  const server = createServer(async (req, res) => {
    let body = ''
    for await (const chunk of req) body += String(chunk)
    const route = `${req.method} ${req.url}`
    asked.push(route)
    if (refusal !== null) {
      res.writeHead(refusal.status, refusal.headers).end()
      refusal = null
      return
    }
    const bearer = (req.headers.authorization ?? '').replace(/^Bearer /, '')
    const { status, json } = answer(route, body, bearer)
    res.writeHead(status, json === undefined ? {} : { 'Content-Type': 'application/json' })
    res.end(json === undefined ? undefined : JSON.stringify(json))
  })
  const port = await listening(server)

  return {
    url: `http://127.0.0.1:${port}`,
    /** `POST /api/v1/auth/login`, in order. */
    asked,
    /** Every password and token that it saw or made. */
    secrets,
    forgetTokens: () => tokens.clear(),
    /** The next request is answered so, whatever it asks. */
    refuseNext: (status: number, headers: Record<string, string> = {}) =>
      void (refusal = { status, headers }),
  }
}

export type RecordingProxy = Awaited<ReturnType<typeof openRecordingProxy>>

/** Passes requests on to `target`, and remembers them. `refuses`: answers such a request with 503 instead. */
export async function openRecordingProxy(
  target: string,
  refuses: (asked: IncomingMessage) => boolean = () => false,
) {
  const asked: string[] = []
  const server = createServer((incoming, outgoing) => {
    asked.push(`${incoming.method} ${incoming.url}`)
    if (refuses(incoming)) return void outgoing.writeHead(503).end()
    const { method, headers } = incoming
    const host = new URL(target).host
    const onward = request(target + incoming.url, { method, headers: { ...headers, host } })
    onward.on('response', (answer: IncomingMessage) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => outgoing.destroy())
    outgoing.on('close', () => onward.destroy())
    incoming.pipe(onward)
  })
  const port = await listening(server)
  return { url: `http://127.0.0.1:${port}`, asked }
}
