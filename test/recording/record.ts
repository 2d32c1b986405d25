/**
 * Records what a build shows from outside: HTTP answers, command output, exit codes and files.
 *
 *   node test/recording/record.ts [CHECKOUT] > before.txt
 *
 * Random and changing parts (ids, tokens, times, ports, paths) are masked, so two builds that
 * behave alike give the same text: compare them with `diff before.txt after.txt`.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { accountExchanges } from './accounts.ts'
import { commandLines } from './commands.ts'
import { gatewayExchanges, mcpExchanges } from './endpoint.ts'
import { stdioLines } from './stdio.ts'

/** One HTTP request. `save` names parts of the answer, which later texts use as `{name}`. */
export interface Exchange {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | object
  readonly save?: Readonly<Record<string, RegExp>>
}

const checkout = resolve(process.argv[2] ?? fileURLToPath(new URL('../..', import.meta.url)))
const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'))
const folder = mkdtempSync(join(tmpdir(), 'recording-'))

const places: Record<string, string> = { folder, password: 'a long enough Password' }
const env = {
  PATH: process.env.PATH,
  HOME: join(folder, 'home'),
  TMPDIR: join(folder, 'tmp'),
  SERVICE_REGISTRY_DIR: join(folder, 'state'),
  NO_COLOR: '1',
  LANG: 'C.UTF-8',
}
mkdirSync(env.HOME)
mkdirSync(env.TMPDIR)

const masks: readonly (readonly [RegExp, string])[] = [
  [/[\w-]{20,}\.[\w-]{20,}\.[\w-]{20,}/g, '<jwt>'],
  [/\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, '<uuid>'],
  [/\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?/g, '<time>'],
  [/\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT/g, '<date>'],
  [/\b\w{3} \d\d? \w{3} \d{4}\b|\b\d{4}-\d\d-\d\d\b/g, '<day>'],
  [/(smk|srt|svc|inv|rst|rt)_[\w-]{16,}/g, '$1_<secret>'],
  [
    /(\\?"(?:\w*pid|pid_start|\w*_ms|uptime\w*|\w*_bytes|iat|exp|nbf|port|own_port|\w*expires_in)\\?":\s*\\?"?)[\d.]+/g,
    '$1<number>',
  ],
  [/\b(pid|process|port) \d+/g, '$1 <number>'],
  [/\bgateway-\d+\.json/g, 'gateway-<port>.json'],
  [/\b1[78]\d{11}\b/g, '<revision>'],
  [/<uuid>:\d+/g, '<uuid>:<number>'],
  [/"registry":"\w{16}"/g, '"registry":"<hash>"'],
  [/\b(?=[0-9a-f]*\d)(?=\d*[a-f])[0-9a-f]{8}\b/g, '<short id>'],
  [/(127\.0\.0\.1|localhost|\[::1\]):\d{4,5}/g, '$1:<port>'],
  [/STORED +EXPIRES|\b(now|\d+ s ago) +/g, '<stored>'],
  [/\b\d+(\.\d+)? ?(ms|s|seconds?|minutes?)\b/g, '<duration>'],
  [/\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{32,}\b/g, '<random>'],
]

function mask(text: string): string {
  let masked = text.replaceAll(checkout, '<checkout>').replaceAll(folder, '<folder>')
  masked = masked.replaceAll(version, '<version>').replaceAll(process.version, '<node>')
  for (const [form, name] of masks) masked = masked.replace(form, name)
  return masked
}

function write(title: string, text: string): void {
  process.stdout.write(`\n### ${mask(title)}\n${mask(text).trimEnd()}\n`)
}

const fill = (text: string) => text.replace(/\{(\w+)\}/g, (all, name) => places[name] ?? all)

function start(args: readonly string[], stdin: 'ignore' | 'pipe' = 'ignore'): ChildProcess {
  const entry = join(checkout, 'bin', 'run.js')
  const child = spawn(process.execPath, [entry, ...args], {
    cwd: folder,
    env,
    stdio: [stdin, 'pipe', 'pipe'],
  })
  child.stderr?.setEncoding('utf8')
  child.stdout?.setEncoding('utf8')
  return child
}

/** Starts a server and keeps the members of its first line as places: `serve.url` and others. */
async function startServer(name: string, args: readonly string[]) {
  const child = start([...args, '--port', '0', '--json'])
  let stderr = ''
  child.stderr?.on('data', (text: string) => (stderr += text))
  const [line] = (await once(createInterface(child.stdout!), 'line')) as [string]
  write(`${name}: first line`, line)
  const said = JSON.parse(line) as Record<string, unknown>
  for (const [key, value] of Object.entries(said)) places[`${name}_${key}`] = String(value)
  return async () => {
    child.kill('SIGTERM')
    const [code] = await once(child, 'close')
    const lines = stderr.replace(/"?(request_)?id"?[:=]\S+/g, '').split('\n')
    write(
      `${name}: exit code ${code}, stderr`,
      lines.filter(each => !/duration/.test(each)).join('\n'),
    )
  }
}

async function exchange(base: string, each: Exchange): Promise<void> {
  const { method = each.body === undefined ? 'GET' : 'POST', headers = {} } = each
  const body = typeof each.body === 'object' ? JSON.stringify(each.body) : each.body
  const path = fill(each.path)
  const json = typeof each.body === 'object' ? { 'Content-Type': 'application/json' } : {}
  const filled = Object.fromEntries(
    Object.entries({ ...json, ...headers }).map(([name, value]) => [name, fill(value)]),
  )
  const url = new URL(base)
  const sent = request({
    host: url.hostname,
    port: url.port,
    method,
    path,
    headers: filled,
    agent: false,
  })
  sent.end(body === undefined ? undefined : fill(body))
  const title = `${method} ${each.path} ${JSON.stringify(headers)} ${body ?? ''}`
  try {
    const [answer] = await once(sent, 'response')
    let text = ''
    answer.setEncoding('utf8')
    const isStream = String(answer.headers['content-type']).startsWith('text/event-stream')
    for await (const chunk of answer) {
      text += chunk
      if (isStream && method === 'GET') break
    }
    sent.destroy()
    const lines = Array.from({ length: answer.rawHeaders.length / 2 }, (_, at) =>
      answer.rawHeaders.slice(2 * at, 2 * at + 2).join(': '),
    )
    const head = lines.filter(line => !/^(date|content-length|keep-alive|etag):/i.test(line))
    for (const [name, form] of Object.entries(each.save ?? {})) {
      const found = form.exec(`${lines.join('\n')}\n\n${text}`)
      if (found?.[1] !== undefined) places[name] = found[1]
    }
    write(title, [answer.statusCode, ...head, '', text.slice(0, 20_000)].join('\n'))
  } catch (error) {
    write(title, `no answer: ${(error as NodeJS.ErrnoException).code}`)
  }
}

async function runCommand(line: readonly string[], input?: string): Promise<void> {
  const child = start(line.map(fill), 'pipe')
  let stdout = ''
  let stderr = ''
  child.stdout?.on('data', (text: string) => (stdout += text))
  child.stderr?.on('data', (text: string) => (stderr += text))
  child.stdin?.on('error', () => {}).end(input === undefined ? '' : fill(input))
  const [code] = await once(child, 'close')
  const shown = `exit code ${code}\n--- stdout\n${stdout}\n--- stderr\n${stderr}`
  write(`$ service-cli ${line.join(' ')}`, shown)
}

/** Sends the lines one after the other, each once the answer to the one before has come. */
async function converse(args: readonly string[], messages: readonly object[]): Promise<void> {
  const child = start(args.map(fill), 'pipe')
  const answers = createInterface(child.stdout!)[Symbol.asyncIterator]()
  const seen: string[] = []
  for (const message of messages) {
    child.stdin?.write(`${JSON.stringify(message)}\n`)
    seen.push(`> ${JSON.stringify(message)}`)
    if ('id' in message) seen.push(`< ${(await answers.next()).value}`)
  }
  child.stdin?.end()
  const [code] = await once(child, 'close')
  write(`$ service-cli ${args.join(' ')} (stdio)`, [...seen, `exit code ${code}`].join('\n'))
}

function describeFiles(root: string): string {
  const paths = readdirSync(root, { recursive: true }).map(String).sort()
  return paths
    .filter(path => !/\.cache|-wal$|-shm$/.test(path))
    .map(path => {
      const stats = statSync(join(root, path))
      const mode = (stats.mode & 0o777).toString(8)
      const isText = /\.(json|toml)$/.test(path)
      return `${mode} ${path}${isText ? `\n${readFileSync(join(root, path), 'utf8')}` : ''}`
    })
    .join('\n')
}

try {
  writeFileSync(join(folder, 'note.txt'), 'a small file\n')
  const stopAccounts = await startServer('accounts', [
    'registry',
    '--data-dir',
    join(folder, 'data'),
  ])
  for (const each of accountExchanges) await exchange(places.accounts_url!, each)
  const serve = ['serve', '--dcc-type', 'blender', '--name', 'recorded', '--capture', 'off']
  const stopServe = await startServer('serve', serve)
  places.host_token = readFileSync(places.serve_host_token_file!, 'utf8').trim()
  for (const each of mcpExchanges) await exchange(places.serve_url!, each)
  const stopGateway = await startServer('gateway', ['gateway', '--no-standby'])
  for (const each of gatewayExchanges) await exchange(places.gateway_url!, each)
  for (const { args, input } of commandLines) await runCommand(args, input)
  for (const { args, messages } of stdioLines) await converse(args, messages)
  write('files while the servers run', describeFiles(folder))
  await stopGateway()
  await stopServe()
  await stopAccounts()
  write('files at the end', describeFiles(folder))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
