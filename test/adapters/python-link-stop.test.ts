import { expect } from 'chai'
import { useLinkedApps } from './linked-app.ts'
import type { PythonApp } from './python-driver.ts'
import { ScriptedServer } from './scripted-server.ts'

describe('the Python link: how it stops', () => {
  let server: ScriptedServer
  let app: PythonApp

  const { link } = useLinkedApps()

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
