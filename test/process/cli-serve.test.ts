import { expect } from 'chai'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { freePort } from '../helpers/free-port.ts'
import { useLink } from '../helpers/page.ts'
import { cleanEnv, exitOf, firstLine, root, startProgram, textOf } from '../helpers/program.ts'
import { skipBecause } from '../helpers/skip.ts'

interface Listening {
  event: string
  url: string
  pid: number
  host_url: string
  host_token_file: string
  instance_id: string
}

describe('service-cli serve', () => {
  let folder = ''
  const started: ChildProcess[] = []

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'service-cli-test-'))
  })
  afterEach(async () => {
    for (const child of started.splice(0)) {
      const ended = exitOf(child)
      child.kill('SIGKILL')
      await ended
    }
    await rm(folder, { recursive: true, force: true })
  })

  it('prints one JSON line when it listens, logs JSON lines, and stops with 0', async () => {
    const { child, listening } = await serve(['--json'])
    const log = textOf(child.stderr)
    expect(listening.event).to.equal('listening')
    expect(listening.pid).to.equal(child.pid)
    expect(listening.url).to.match(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/)
    expect(listening.host_url).to.match(/\/host$/)
    expect(listening.instance_id).to.match(/^[0-9a-f-]{36}$/)
    if (process.platform === 'linux') {
      const shown = await readFile(`/proc/${child.pid}/cmdline`, 'utf8')
      expect(shown.replaceAll('\0', '')).to.equal('service-cli')
    }

    expect(await postScene(listening)).to.equal(200)
    child.kill('SIGTERM')
    expect(await exitOf(child)).to.equal(0)
    expect(await readdir(join(folder, 'instances'))).to.deep.equal([])
    for (const line of (await log).trim().split('\n')) {
      expect(JSON.parse(line)).to.include.keys('level', 'time', 'msg')
    }
    expect(await log).to.contain('no key is required: every account of this machine')
  })

  it('shows a command that posts a scene, and links to its page and that of the gateway beside it', async function () {
    if (!existsSync('/usr/bin/curl') || !existsSync('/usr/bin/script'))
      skipBecause(this, 'needs curl and script')
    const child = serveOnTerminal(['--gateway', '--gateway-port', `${await freePort()}`])
    const shown = readUntil(child.stdout, /Gateway page[^]*#login=\S+\s/)
    const banner = await readUntil(child.stdout, 'Ctrl-C stops.')
    expect(banner).to.contain('MCP endpoint').and.not.contain('\x1b')
    const [, lines = ''] = banner.replaceAll('\r', '').split('Or post a scene\n')
    const command = lines.split('\n\n')[0] ?? ''
    const curl = spawn('/bin/sh', ['-c', command], { env: cleanEnv() })
    expect(await textOf(curl.stdout)).to.match(/"ok": ?true/)
    const [link = '', base = ''] = /(http\S+)\/#login=\S+/.exec(banner) ?? []
    expect(banner).to.contain('opens once, within five minutes')
    expect((await useLink(base, link)).status).to.equal(204)
    expect((await useLink(base, link)).status).to.equal(403)

    const [, below = ''] = (await shown).split('Gateway page')
    const [gatewayLink = '', gateway = ''] = /(http\S+)\/#login=\S+/.exec(below) ?? []
    expect((await useLink(gateway, gatewayLink)).status).to.equal(204)
    expect((await fetch(`${gateway}/host/v1/notes`, { method: 'POST' })).status).to.equal(404)
    child.stdin?.write('\x03')
    expect(await exitOf(child)).to.equal(0)
  })

  it('goes on when its terminal is stopped', async function () {
    if (process.platform !== 'linux' || !existsSync('/usr/bin/script'))
      skipBecause(this, 'needs Linux and the program script')
    const child = serveOnTerminal(['--log-level', 'debug'])
    await readUntil(child.stdout, 'Ctrl-C stops.')
    const [record = ''] = (await readdir(join(folder, 'instances'))).filter(isRecord)
    const instance = JSON.parse(await readFile(join(folder, 'instances', record), 'utf8'))
    child.stdout?.pause()
    await makeNoise(instance.mcp_url)
    expect(await postScene(instance)).to.equal(200)
    process.kill(instance.pid, 'SIGTERM')
    child.stdout?.resume()
    expect(await exitOf(child)).to.equal(0)
  })

  it('ends at once on the second signal', async () => {
    const { child, listening } = await serve(['--json', '--limit', 'stopGraceMs=60000'])
    const { port, pathname } = new URL(listening.url)
    const socket = connect(Number(port), '127.0.0.1')
    // A body that never ends keeps the server busy.
    socket.write(
      `POST ${pathname} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
        'Accept: application/json, text/event-stream\r\nExpect: 100-continue\r\n' +
        'Content-Length: 10\r\n\r\n{',
    )
    socket.on('error', () => {})
    await once(socket, 'data')
    child.kill('SIGTERM')
    await readUntil(child.stderr, '"msg":"stopping"')
    child.kill('SIGTERM')
    expect(await exitOf(child)).to.equal(143)
    socket.destroy()
  })

  it('goes on when stdin, stdout and stderr are closed', async () => {
    const { child, listening } = await serve(['--json', '--log-level', 'debug'])
    child.stdout?.destroy()
    child.stderr?.destroy()
    for (let count = 0; count < 20; count++) expect(await postScene(listening)).to.equal(200)
    child.kill('SIGTERM')
    expect(await exitOf(child)).to.equal(0)
  })

  it('goes on and stops when nobody reads stderr', async () => {
    const { child, listening } = await serve(['--json', '--log-level', 'debug'])
    child.stderr?.pause()
    await makeNoise(listening.url)
    expect(await postScene(listening)).to.equal(200)
    child.kill('SIGTERM')
    expect(await exitOf(child)).to.equal(0)
  })

  it('asks for the key of the file, shows neither key nor token, and stops with 0 on SIGINT', async () => {
    const key = 'k'.repeat(43)
    const file = join(folder, 'key')
    await writeFile(file, `${key}\n`, { mode: 0o600 })
    const { child, listening } = await serve([
      '--json',
      '--log-level',
      'debug',
      '--api-key-file',
      file,
    ])
    const stderr = textOf(child.stderr)
    const token = await readFile(listening.host_token_file, 'utf8')
    expect(await initialize(listening.url)).to.equal(401)
    expect(await initialize(listening.url, 'wrong')).to.equal(401)
    expect(await initialize(listening.url, key)).to.equal(200)
    expect(await postScene(listening)).to.equal(200)
    child.kill('SIGINT')
    expect(await exitOf(child)).to.equal(0)
    expect(await stderr).not.to.contain(key)
    expect(await stderr).not.to.contain(token)
  })

  it('logs nothing with --quiet when all is well, and stops with 0 on SIGHUP', async () => {
    const { child } = await serve(['--json', '--quiet'])
    const silent = textOf(child.stderr)
    child.kill('SIGHUP')
    expect(await exitOf(child)).to.equal(0)
    expect(await silent).to.equal('')
  })

  function serveOnTerminal(args: string[]): ChildProcess {
    const words = ['bin/run.js', 'serve', '--port', '0', '--registry-dir', folder, ...args]
    const child = spawn(
      '/usr/bin/script',
      ['-qefc', `exec ${process.execPath} ${words.join(' ')}`, '/dev/null'],
      { cwd: root, env: cleanEnv({ NO_COLOR: '1' }), stdio: ['pipe', 'pipe', 'ignore'] },
    )
    started.push(child)
    return child
  }

  async function serve(args: string[]): Promise<{ child: ChildProcess; listening: Listening }> {
    const child = startProgram(['serve', '--port', '0', '--registry-dir', folder, ...args])
    started.push(child)
    const line = await firstLine(child.stdout)
    return { child, listening: JSON.parse(line) as Listening }
  }
})

/** More log lines (at level debug) than any pipe or terminal holds. */
async function makeNoise(url: string): Promise<void> {
  for (let count = 0; count < 60; count++) {
    const answer = await fetch(`${new URL(url).origin}/${'x'.repeat(8000)}`)
    await answer.arrayBuffer()
  }
}

function isRecord(name: string): boolean {
  return name.endsWith('.json')
}

async function postScene({
  host_url,
  host_token_file,
}: Pick<Listening, 'host_url' | 'host_token_file'>): Promise<number> {
  const token = await readFile(host_token_file, 'utf8')
  const answer = await fetch(`${host_url.replace(/^ws/, 'http')}/v1/scene`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: '{"objects":[{"name":"Cube"}]}',
  })
  await answer.arrayBuffer()
  return answer.status
}

async function initialize(url: string, key?: string): Promise<number> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(key !== undefined && { authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'test', version: '1' },
      },
    }),
  })
  await answer.arrayBuffer()
  return answer.status
}

function readUntil(stream: Readable | null, mark: string | RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    stream?.on('data', chunk => {
      text += String(chunk)
      if (typeof mark === 'string' ? text.includes(mark) : mark.test(text)) resolve(text)
    })
    stream?.once('end', () => reject(new Error(`no "${String(mark)}" in: ${text}`)))
  })
}
