import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { isOwnProcess } from '../../../src/lib/util/process.ts'
import { type AppPresence, captureTarget } from '../../../src/server/capture/target.ts'

const gui: AppPresence = { connected: true, app: { pid: 4711, mode: 'gui' } }
const own = () => true
const foreign = () => false

const rows: [
  what: string,
  presence: AppPresence,
  title: string | null,
  isOwn: (pid: number) => boolean | null,
  expected: string,
][] = [
  ['the application that left', { ...gui, connected: false }, null, own, 'no_application'],
  ['the linked one', gui, null, own, '4711'],
  ['the linked one, where processes are not told apart', gui, null, () => null, '4711'],
  ['an id that is somebody else here', gui, null, foreign, 'no_application'],
  ['one without id', { connected: true, app: { mode: 'gui' } }, null, own, 'no_application'],
  [
    'one without window',
    { connected: true, app: { pid: 1, mode: 'background' } },
    null,
    own,
    'no_window',
  ],
  ['a title in place of the id', gui, 'Blender', foreign, 'Blender'],
]

describe('captureTarget', () => {
  for (const [what, presence, title, isOwn, expected] of rows) {
    it(`${what}: ${expected}`, () => {
      const target = captureTarget(presence, title, isOwn)
      const shown = target.ok
        ? (target.value.title ?? String(target.value.pid))
        : target.failure.reason
      expect(shown).to.equal(expected)
    })
  }

  it('says what to do about an application in a container', () => {
    const target = captureTarget(gui, null, foreign)
    expect(target.ok ? '' : `${target.failure.message} ${target.failure.hint}`)
      .to.contain('4711')
      .and.contain('--capture-title')
  })
})

describe('isOwnProcess', () => {
  before(function () {
    if (process.platform !== 'linux') this.skip()
  })

  it('is true for this process and those it starts, false once they are gone', async () => {
    expect(isOwnProcess(process.pid)).to.equal(true)
    const child = spawn('sleep', ['60'])
    expect(isOwnProcess(child.pid ?? 0)).to.equal(true)
    child.kill()
    await once(child, 'close')
    expect(isOwnProcess(child.pid ?? 0)).to.equal(false)
  })
})
