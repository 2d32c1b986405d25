import { expect } from 'chai'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readFile, readdir, utimes, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { newFolder } from '../helpers/cleanup.ts'
import { freePort } from '../helpers/free-port.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import { ask, RawSession } from '../helpers/mcp.ts'
import { useLink } from '../helpers/page.ts'
import { cleanEnv, exitOf, firstLine, root, startProgram, textOf } from '../helpers/program.ts'
import { runningServe } from '../helpers/serve-process.ts'
import { skipBecause } from '../helpers/skip.ts'
import { until } from '../helpers/until.ts'

const scene = { objects: [{ name: 'Cube' }] }
const oldNode = findOldNode()

describe('the program serve', () => {
  let folder: string
  const started: ChildProcess[] = []
  const records = () => readdir(join(folder, 'instances'))

  beforeEach(() => (folder = newFolder()))
  afterEach(async () => {
    for (const child of started.splice(0)) {
      const ended = exitOf(child)
      child.kill('SIGKILL')
      await ended
    }
  })

  async function start(args: string[], node?: string) {
    const words = ['serve', '--port', '0', '--json', '--registry-dir', folder, ...args]
    const child = startProgram(words, node === undefined ? {} : { node })
    started.push(child)
    const listening = JSON.parse(await firstLine(child.stdout))
    return { child, listening, serve: runningServe(listening) }
  }

  it('prints one JSON line, logs JSON lines, and ends at once on the second signal', async () => {
    const { child, listening, serve } = await start(['--bound=stopGraceMs=60000'])
    const log = textOf(child.stderr)
    expect(listening).to.include({ event: 'listening', pid: child.pid })
    expect(listening.url).to.match(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/)
    expect(listening.instance_id).to.match(/^[0-9a-f-]{36}$/)
    if (process.platform === 'linux') {
      const shown = await readFile(`/proc/${child.pid}/cmdline`, 'utf8')
      expect(shown.replaceAll('\0', '')).to.equal('service-cli')
    }
    expect((await serve.post('scene', scene)).status).to.equal(200)
    expect(await endAtOnce(child, serve.port)).to.equal(143)
    for (const line of (await log).trim().split('\n')) {
      expect(JSON.parse(line)).to.include.keys('level', 'time', 'msg')
    }
    expect(await log).to.contain('no key is required: every account of this machine')
  })

  it('continues on the Node of the checkout when an older one starts it', async function () {
    const old = oldNode ?? skipBecause(this, 'there is no older Node on this machine')
    const { child, listening, serve } = await start([], old.path)
    expect(listening.pid).not.to.equal(child.pid)
    expect(await endAtOnce(child, serve.port)).to.equal(143)
  })

  it('ends with an older Node that started it and is killed', async function () {
    const old = oldNode ?? skipBecause(this, 'there is no older Node on this machine')
    const { child } = await start([], old.path)
    const log = textOf(child.stderr)
    child.kill('SIGKILL')
    // Of the server, which holds the other end of this pipe until it ends.
    expect(await log).to.contain('"msg":"stopped"')
    expect(await records()).to.deep.equal([])
  })

  it('says what it needs on an older Node without a newer one beside it', async function () {
    const { engines } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
    const entry = await readFile(join(root, 'bin/run.js'), 'utf8')
    const needed = /needs Node ([\d.]+)/.exec(entry)?.[1]
    expect(engines.node).to.equal(`>=${needed}`)
    const old = oldNode ?? skipBecause(this, 'there is no older Node on this machine')
    await mkdir(join(folder, 'bin'))
    await writeFile(join(folder, 'package.json'), '{"type":"module"}')
    await writeFile(join(folder, 'bin/run.js'), entry)
    const words = [join(folder, 'bin/run.js'), 'serve']
    const { status, stdout, stderr } = spawnSync(old.path, words, { encoding: 'utf8' })
    expect([status, stdout]).to.deep.equal([1, ''])
    const told = `service-cli needs Node ${needed} or newer, this is ${old.version}\n`
    expect(stderr).to.equal(told)
  })

  it('goes on when nobody reads its output, nor can, and stops with 0 on SIGHUP', async () => {
    const { child, serve } = await start(['--log-level', 'debug'])
    child.stderr?.pause()
    await makeNoise(serve.base)
    expect((await serve.post('scene', scene)).status).to.equal(200)
    child.stdout?.destroy()
    child.stderr?.destroy()
    for (let count = 0; count < 20; count++) {
      expect((await serve.post('scene', scene)).status).to.equal(200)
    }
    child.kill('SIGHUP')
    expect(await exitOf(child)).to.equal(0)
    expect(await records()).to.deep.equal([])
  })

  it('shows a command that posts a scene, links to its page and that of the gateway, and goes on and ends while its terminal is stopped', async function () {
    if (!existsSync('/usr/bin/curl') || !existsSync('/usr/bin/script'))
      skipBecause(this, 'needs curl and script')
    const gateway = ['--gateway', '--gateway-port', `${await freePort()}`]
    const words = ['--port', '0', '--registry-dir', folder, '--log-level', 'debug', ...gateway]
    const command = `exec ${process.execPath} bin/run.js serve ${words.join(' ')}`
    const child = spawn('/usr/bin/script', ['-qefc', command, '/dev/null'], {
      cwd: root,
      env: cleanEnv({ NO_COLOR: '1' }),
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    started.push(child)
    const shown = readUntil(child.stdout, /Gateway page[^]*#login=\S+\s/)
    const banner = await readUntil(child.stdout, 'Ctrl-C stops.')
    expect(banner).to.contain('MCP endpoint').and.not.contain('\x1b')
    const [, lines = ''] = banner.replaceAll('\r', '').split('Or post a scene\n')
    const post = lines.split('\n\n')[0] ?? ''
    const curl = spawn('/bin/sh', ['-c', post], { env: cleanEnv() })
    expect(await textOf(curl.stdout)).to.match(/"ok": ?true/)
    const [link = '', base = ''] = /(http\S+)\/#login=\S+/.exec(banner) ?? []
    expect(banner).to.contain('opens once, within five minutes')
    expect((await useLink(base, link)).status).to.equal(200)
    expect((await useLink(base, link)).status).to.equal(403)

    const [, below = ''] = (await shown).split('Gateway page')
    const [gatewayLink = '', gatewayBase = ''] = /(http\S+)\/#login=\S+/.exec(below) ?? []
    expect((await useLink(gatewayBase, gatewayLink)).status).to.equal(200)
    expect((await fetch(`${gatewayBase}/host/v1/notes`, { method: 'POST' })).status).to.equal(404)

    child.stdout.pause()
    await makeNoise(base)
    expect((await fetch(`${base}/healthz`)).status).to.equal(200)
    const record = (await records()).find(name => name.endsWith('.json')) ?? ''
    const { pid } = JSON.parse(await readFile(join(folder, 'instances', record), 'utf8'))
    process.kill(pid, 'SIGTERM')
    const state = () => readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ') Z')
    await until(async () => (await state()).includes(') Z'), 'the end of the server')
    child.stdout.resume()
    expect(await exitOf(child)).to.equal(0)
  })

  it('killed leaves what a later start removes, and loses no artefact', async () => {
    const { child, listening, serve } = await start([])
    const hex = await serve.store(randomBytes(100_000))
    await serve.post('scene', scene)
    child.kill('SIGKILL')
    await exitOf(child)
    // The signal may meet a record that is being written.
    const left = await records()
    const { instance_id: id } = listening
    expect(left).to.include.members([`${id}.json`, `${id}.owner`, `${id}.token`])
    for (const file of left) await utimes(join(folder, 'instances', file), 1000, 1000)
    const next = await serveInProcess({ registryDir: folder })
    expect(await records())
      .to.have.lengthOf(3)
      .and.not.include.members(left)
    expect((await ask(`${next.base}/artefacts/sha256/${hex}`)).status).to.equal(200)
    expect(next.token).not.to.equal(serve.token)
    const session = await RawSession.open(next.url)
    expect(await session.readJson('scene://current')).to.include({ status: 'no_snapshot' })
    await next.stop()
    expect(await records()).to.deep.equal([])
  })
})

/** A Node of the system that is too old, if there is one. */
function findOldNode(): { path: string; version: string } | null {
  for (const path of ['/usr/local/bin/node', '/usr/bin/node']) {
    const words = ['-p', 'process.versions.node']
    const { status, stdout } = spawnSync(path, words, { encoding: 'utf8' })
    const version = status === 0 ? stdout.trim() : ''
    if (version !== '' && Number(version.split('.')[0]) < 24) return { path, version }
  }
  return null
}

/** Two signals, of which the first finds the server busy. Resolves with the exit code. */
async function endAtOnce(child: ChildProcess, port: number): Promise<number | null> {
  const socket = connect(port, '127.0.0.1')
  // A body that never ends keeps the server busy.
  socket.write(
    'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
      'Accept: application/json, text/event-stream\r\nExpect: 100-continue\r\n' +
      'Content-Length: 10\r\n\r\n{',
  )
  socket.on('error', () => {})
  await once(socket, 'data')
  const stopping = readUntil(child.stderr, '"msg":"stopping"')
  child.kill('SIGTERM')
  await stopping
  child.kill('SIGTERM')
  const code = await exitOf(child)
  socket.destroy()
  return code
}

/** More log lines (at level debug) than any pipe or terminal holds. */
async function makeNoise(base: string): Promise<void> {
  for (let count = 0; count < 60; count++) {
    const answer = await fetch(`${base}/${'x'.repeat(8000)}`)
    await answer.arrayBuffer()
  }
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
