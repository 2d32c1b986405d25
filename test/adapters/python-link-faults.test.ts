import { expect } from 'chai'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { newFolder } from '../helpers/cleanup.ts'
import { until } from '../helpers/until.ts'
import {
  type LinkOptions,
  type PythonApp,
  launch,
  link,
  needPython,
  serve,
} from './python-driver.ts'
import { type Script, ScriptedServer, token, welcome } from './scripted-server.ts'

/** It would have come back after 200 to 300 ms. */
const longerThanFirstWaitMs = 400

describe('the Python link: what goes wrong', () => {
  let server: ScriptedServer
  let app: PythonApp

  before(needPython)

  async function begin(script: Script = {}, options: LinkOptions = {}) {
    ;({ server, app } = await link(script, {}, options))
  }

  it('gives up on a wrong token that was given, and says so', async () => {
    await begin({ refuse: () => 401 })
    const { text } = await app.untilState('refused')
    expect(text).to.equal(`Not linked to ${server.url}: it does not accept the host token.`)
    await delay(longerThanFirstWaitMs)
    expect(server.attempts).to.equal(1)
    server.script = {}
    await app.call('start')
    await app.untilState('connected')
  })

  it('reads the token of a record again after a 401', async () => {
    const folder = newFolder()
    const instances = join(folder, 'instances')
    await mkdir(instances, { mode: 0o700 })
    const file = join(instances, 'one.token')
    const good = ({ headers }: IncomingMessage) =>
      headers.authorization === `Bearer ${token}` ? null : 401
    server = await serve({ refuse: good })
    await writeFile(file, 'of-an-earlier-run', { mode: 0o600 })
    const about = { instance_id: 'one', dcc_type: 'unknown', host: { connected: false } }
    const record = { ...about, host_url: server.url, host_token_file: file }
    await writeFile(join(instances, 'one.json'), JSON.stringify(record), { mode: 0o600 })
    app = launch()
    await app.link({ registry_dir: folder })
    const { text } = await app.untilState('waiting')
    expect(text).to.match(/does not accept the token in .*one\.token, which is read again\. Trying/)
    await writeFile(file, `${token}\n`)
    await app.untilState('connected')
    await chmod(instances, 0o777)
    server.peers[0]?.ws.terminate()
    const unsafe = await app.untilState('searching')
    expect(unsafe.text).to.contain('can be written by other users')
  })

  it('does not come back after 4409', async () => {
    await begin({ welcome: null, connected: peer => peer.ws.close(4409, 'reason') })
    const { text } = await app.untilState('refused')
    expect(text).to.contain('a newer link of this application took its place')
    await delay(longerThanFirstWaitMs)
    expect(server.peers).to.have.length(1)
    expect(server.peers[0]?.closeCode).to.equal(4409)
  })

  it('comes back a second after the server stopped', async () => {
    await begin()
    const first = await server.peer()
    await app.untilState('connected')
    first.ws.close(1001)
    expect((await app.untilState('waiting')).text).to.contain('Trying again in 1.0 s')
    await server.peer(2)
    const ids = server.peers.map(peer => peer.of('hello')[0]?.['instance_id'])
    expect(ids[0]).to.equal(ids[1])
  })

  it('waits longer after each failure, and not after a connection that was good', async () => {
    await begin({ refuse: () => 503 })
    await until(() => server.attempts >= 3, '3 attempts')
    const waits = await waitsOf()
    expect(waits[0]).to.be.oneOf([0.2, 0.3])
    expect(waits[1]).to.be.within(0.4, 0.6)
    const { lastError } = await app.status()
    expect(lastError).to.contain('it answered HTTP 503')
    server.script = {}
    const peer = await server.peer()
    await app.untilState('connected')
    const { length } = await waitsOf()
    peer.ws.terminate()
    await server.peer(2)
    expect((await waitsOf())[length]).to.be.oneOf([0.2, 0.3])
  })

  /** The seconds that each status told of, oldest first. */
  async function waitsOf(): Promise<number[]> {
    const statuses: [state: string, text: string][] = await app.get('statuses')
    return statuses
      .filter(([state]) => state === 'waiting')
      .map(([, text]) => Number(/in ([\d.]+) s\.$/.exec(text)?.[1]))
  }

  it('closes a connection on which a message cannot be read, and comes back', async () => {
    await begin()
    const peer = await server.peer()
    await peer.nth('heartbeat')
    peer.ws.send('{')
    await peer.closed()
    expect((await app.untilState('waiting')).text).to.contain('the link failed')
    await app.untilState('connected')
  })

  it('takes silence for the end of the server', async () => {
    await begin({}, { constants: { 'session.SILENCE_SECONDS': 0.5 } })
    await server.peer()
    await server.peer(2)
    expect((await app.status()).state).to.be.oneOf(['connecting', 'connected'])
  })

  it('reads what came while no thread of Python ran before it judges silence', async () => {
    await begin({}, { constants: { 'session.SILENCE_SECONDS': 1 } })
    const peer = await server.peer()
    await app.untilState('connected')
    const frozen = app.tell({ freeze: 2 })
    await delay(500)
    for (const type of ['demand', 'of.a.later.version']) peer.send({ type, scene: true })
    await frozen
    await app.call('set_scene', { frame: 1 })
    await peer.nth('scene.set')
    expect(server.peers).to.have.length(1)
  })

  it('does not send a scene again that may have closed the link', async () => {
    await begin({ connected: peer => peer.answers.delete('scene.set') })
    await app.call('set_scene', { frame: 1 })
    const first = await server.peer()
    await first.nth('scene.set')
    server.script = { welcome: { ...welcome, need_scene: true } }
    first.ws.close(4400, 'deeper than 64 levels')
    const second = await server.peer(2)
    await second.nth('heartbeat')
    await app.untilError('the scene was given up')
    expect(second.of('scene.set')).to.have.length(0)
    expect(await app.get('need_scene')).to.equal(true)
  })

  it('never blocks on a server that does not read, nor at its own end', async () => {
    await begin({ connected: peer => peer.socket.pause() })
    await app.untilState('connected')
    for (let n = 0; n < 5; n++) {
      await app.call('set_scene', { frame: n, text: 'x'.repeat(4_000_000) })
    }
    await app.named('record', { action: 'a' })
    // A call that waits for the server returns only when the link is given up.
    expect((await app.status()).state).to.equal('connected')
    await app.call('stop', 'quit', 0.5)
    expect((await app.status()).state).to.equal('off')
  })
})

describe('the Python link: how it stops', () => {
  let server: ScriptedServer
  let app: PythonApp

  before(needPython)

  async function begin() {
    ;({ server, app } = await link())
  }

  it('says bye when it is stopped, after what was still waiting', async () => {
    await begin()
    const peer = await server.peer()
    await app.untilState('connected')
    await app.call('set_scene', { frame: 1 })
    // Longer than the test may take: only the close of the server ends it.
    await app.call('stop', 'done', 600)
    expect(await peer.closed()).to.equal(1000)
    expect(peer.messages.slice(-2).map(({ type }) => type)).to.deep.equal(['scene.set', 'bye'])
    expect(await peer.nth('bye')).to.include({ reason: 'done' })
    await app.call('start')
    await server.peer(2)
  })

  it('asks the server to remove what was shared, and does not share it again', async () => {
    await begin()
    const peer = await server.peer()
    await app.untilState('connected')
    await app.call('set_scene', { frame: 1 })
    await peer.nth('scene.set')
    await app.tell({ call: 'stop', args: ['disconnected'], kwargs: { clear: true } })
    expect(await peer.nth('bye')).to.include({ reason: 'disconnected', clear: true })
    await app.call('start')
    const next = await server.peer(2)
    await next.nth('heartbeat')
    await app.call('log', 'after', 'console', 'test')
    await next.nth('events.append')
    expect(next.messages.map(({ type }) => type)).not.to.include('scene.set')
  })

  const disconnect = () =>
    app.tell({ call: 'stop', args: ['disconnected'], kwargs: { clear: true, timeout: 3 } })

  /** Linked, the scene taken, and then lost. */
  async function lostWithScene(): Promise<void> {
    await begin()
    const peer = await server.peer()
    await app.untilState('connected')
    await app.call('set_scene', { frame: 1 })
    await app.call('flush')
    server.script = { refuse: () => 503 }
    peer.ws.terminate()
    await app.untilState('waiting')
  }

  it('connects once more to have the scene removed when it is stopped while the link is down', async () => {
    await lostWithScene()
    const { length } = server.peers
    server.script = {}
    await disconnect()
    const next = await server.peer(length + 1)
    expect(await next.nth('bye')).to.include({ reason: 'disconnected', clear: true })
    expect(next.messages.map(({ type }) => type)).not.to.include('scene.set')
    expect(await app.status()).to.include({
      state: 'off',
      text: 'Scene no longer shared. Files and history stay on the server.',
    })
  })

  it('says that the server keeps the scene when it cannot be told', async () => {
    await lostWithScene()
    await disconnect()
    const { state, text } = await app.status()
    expect(state).to.equal('off')
    expect(text).to.contain('The server could not be told: it keeps the last scene')
  })

  it('says bye when the interpreter ends without stop', async () => {
    await begin()
    const peer = await server.peer()
    await app.untilState('connected')
    expect(await app.end()).to.equal(0)
    expect(await peer.nth('bye')).to.include({ reason: 'quit' })
  })
})
