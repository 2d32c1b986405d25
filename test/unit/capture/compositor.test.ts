import { expect } from 'chai'
import { once } from 'node:events'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { checkCompositor } from '../../../src/server/capture/compositor.ts'
import { newFolder } from '../../helpers/cleanup.ts'

/** Answers as an X display does. `owner`: of the selection of the compositor; null: refuses all. */
async function withDisplay(owner: number | null, run: (name: string) => Promise<void>) {
  const display = 9000 + (process.pid % 900)
  const path = `/tmp/.X11-unix/X${display}`
  const server = createServer(socket => {
    const answers = [
      Buffer.from([owner === null ? 0 : 1, 0, 11, 0, 0, 0, 1, 0, 0, 0, 0, 0]),
      Buffer.alloc(32, 1),
      Buffer.concat([Buffer.alloc(8), Buffer.from([owner ?? 0]), Buffer.alloc(23)]),
    ]
    socket.on('data', () => void socket.write(answers.shift() ?? ''))
  })
  await mkdir('/tmp/.X11-unix', { recursive: true })
  await rm(path, { force: true })
  server.listen(path)
  await once(server, 'listening')
  try {
    await run(`:${display}`)
  } finally {
    server.close()
  }
}

// With a real display: test/apps/capture-window.test.ts.
describe('checkCompositor', () => {
  const whyNot = async (env: NodeJS.ProcessEnv) => {
    const outcome = await checkCompositor(env)
    return outcome.ok ? null : outcome.failure
  }

  it('says that there is no display of this machine', async () => {
    for (const DISPLAY of [undefined, 'elsewhere:0', ':x']) {
      const failure = await whyNot({ DISPLAY })
      expect(failure).to.include({ reason: 'no_display' })
      expect(failure?.message).to.include('names no display of this machine')
      expect(failure?.hint).to.include('in the session of the desktop')
    }
    expect((await whyNot({ WAYLAND_DISPLAY: 'wayland-0' }))?.hint).to.include('XWayland')
  })

  it('says that a display does not answer, whatever the file of its keys holds', async () => {
    const field = (text: string) =>
      Buffer.concat([Buffer.from([0, text.length]), Buffer.from(text)])
    const anywhere = [Buffer.from([0xff, 0xff]), field(''), field('9999')]
    const keys = Buffer.concat([
      ...anywhere,
      field('MIT-MAGIC-COOKIE-1'),
      field('0123456789abcdef'),
    ])
    const folder = newFolder()
    const XAUTHORITY = join(folder, 'keys')
    for (const bytes of [keys, keys.subarray(0, 20), Buffer.from('no keys')]) {
      await writeFile(XAUTHORITY, bytes)
      const failure = await whyNot({ DISPLAY: ':9999.1', XAUTHORITY })
      expect(failure).to.include({ reason: 'no_display' })
      expect(failure?.message).to.include('display :9999.1 does not answer')
    }
  })

  it('says whether one runs on the display', async () => {
    for (const [owner, reason] of [
      [7, undefined],
      [0, 'no_compositor'],
      [null, 'no_display'],
    ] as const) {
      await withDisplay(owner, async DISPLAY => {
        expect((await whyNot({ DISPLAY, XAUTHORITY: '/none' }))?.reason).to.equal(reason)
      })
    }
  })
})
