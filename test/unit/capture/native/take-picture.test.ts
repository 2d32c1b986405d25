import { expect } from 'chai'
import type { NativeLibrary, NativeWindow } from '../../../../src/server/capture/native/library.ts'
import { listWindows, takePicture } from '../../../../src/server/capture/native/take-picture.ts'
import { readPng } from '../png/read-png.ts'

const never = (): never => {
  throw new Error('Get window pid failed')
}

/** Two pixels beside each other: red and blue. */
const image = {
  width: 2,
  height: 1,
  toRaw: () => Promise.resolve(Uint8Array.from([255, 0, 0, 255, 0, 0, 255, 0])),
}

function windowOf(id: number, more: Partial<NativeWindow> = {}): NativeWindow {
  return {
    id: () => id,
    pid: () => 10,
    title: () => `window ${id}`,
    z: () => id,
    width: () => 2,
    height: () => 1,
    isMinimized: () => false,
    isFocused: () => false,
    captureImage: () => Promise.resolve(image),
    ...more,
  }
}

const mine = { pid: 10, title: null }
const inFamily = (pid: number): boolean => pid === 10

function take(
  windows: NativeWindow[] | (() => NativeWindow[]),
  more: { id?: number; platform?: NodeJS.Platform; title?: string } = {},
) {
  const library: NativeLibrary = {
    Window: { all: typeof windows === 'function' ? windows : () => windows },
  }
  const target = more.title === undefined ? mine : { pid: null, title: more.title }
  const form = { maxWidth: 100, maxBytes: 1e5, maxRounds: 3 }
  const request = { id: more.id ?? null, target, form, maxPixels: 1000 }
  return takePicture(library, request, inFamily, more.platform ?? 'win32')
}

const reasonOf = async (taking: ReturnType<typeof take>): Promise<string> => {
  const taken = await taking
  return taken.ok ? taken.value.window.title : taken.failure.reason
}

describe('takePicture', () => {
  it('gives every pixel of the window, whatever its transparency', async () => {
    const taken = await take([windowOf(1)])
    if (!taken.ok) throw new Error(taken.failure.message)
    expect(taken.value.window).to.deep.equal({ title: 'window 1', width: 2, height: 1 })
    expect([...readPng(taken.value.picture.png).bytes]).to.deep.equal([255, 0, 0, 0, 0, 255])
  })

  const blank = { ...image, toRaw: () => Promise.resolve(new Uint8Array(8)) }
  const short = { ...image, toRaw: () => Promise.resolve(new Uint8Array(7)) }
  const refused = (): Promise<never> => Promise.reject(new Error('xcb protocol error'))
  const foreign = { pid: () => 11 }
  const cases: [name: string, taking: () => ReturnType<typeof take>, expected: string][] = [
    ['takes the highest window of the process', () => take([windowOf(1), windowOf(2)]), 'window 2'],
    [
      'takes the focused one before it',
      () => take([windowOf(1, { isFocused: () => true }), windowOf(2)]),
      'window 1',
    ],
    [
      'passes over a window that tells no process',
      () => take([windowOf(1), windowOf(2, { pid: never })]),
      'window 1',
    ],
    ['passes over process 0', () => take([windowOf(1, { pid: () => 0 })]), 'no_window'],
    [
      'passes over a window that is gone meanwhile',
      () => take([windowOf(1), windowOf(2, { width: never })]),
      'window 1',
    ],
    [
      'passes over a window without an id',
      () => take([windowOf(1), windowOf(2, { id: never })]),
      'window 1',
    ],
    [
      'bears a window that tells little',
      () => take([windowOf(1, { title: never, z: never, isFocused: never, isMinimized: never })]),
      '',
    ],
    ['never takes the window of another process', () => take([windowOf(1, foreign)]), 'no_window'],
    [
      'takes the window that is named',
      () => take([windowOf(1), windowOf(2, foreign)], { id: 2 }),
      'window 2',
    ],
    ['says when the one that is named is gone', () => take([windowOf(1)], { id: 2 }), 'no_window'],
    [
      'goes by the title',
      () => take([windowOf(1, foreign), windowOf(2)], { title: 'WINDOW 1' }),
      'window 1',
    ],
    [
      'says when it is minimised',
      () => take([windowOf(1, { isMinimized: () => true })]),
      'minimised',
    ],
    [
      'says when nothing is drawn',
      () => take([windowOf(1, { captureImage: () => Promise.resolve(blank) })]),
      'blank',
    ],
    [
      'says when the system gives no picture',
      () => take([windowOf(1, { captureImage: refused })]),
      'failed',
    ],
    [
      'says when the picture is cut short',
      () => take([windowOf(1, { captureImage: () => Promise.resolve(short) })]),
      'failed',
    ],
    [
      'says when the window is too large',
      () => take([windowOf(1, { width: () => 1001 })]),
      'failed',
    ],
    ['says when windows cannot be listed', () => take(never), 'failed'],
    [
      'takes a window without contents for a missing permission on macOS',
      () =>
        take([windowOf(1, { captureImage: () => Promise.resolve(blank) })], { platform: 'darwin' }),
      'permission',
    ],
    [
      'takes windows without titles for a missing permission on macOS',
      () => take([windowOf(1, { pid: () => 11, title: () => '' })], { platform: 'darwin' }),
      'permission',
    ],
    [
      'takes an empty list for a missing permission on macOS',
      () => take([], { platform: 'darwin' }),
      'permission',
    ],
    [
      'knows on macOS that titles of others need the permission',
      () => take([windowOf(1, foreign)], { platform: 'darwin' }),
      'no_window',
    ],
    ['knows no such permission on Windows', () => take([]), 'no_window'],
  ]
  for (const [name, taking, expected] of cases) {
    it(name, async () => expect(await reasonOf(taking())).to.equal(expected))
  }
})

describe('listWindows', () => {
  it("asks others' windows for nothing but their process", () => {
    const other = windowOf(1, {
      pid: () => 11,
      title: never,
      width: never,
      height: never,
      z: never,
      isFocused: never,
    })
    let asked = 0
    const counted = { ...other, width: () => (asked++, 1), title: () => (asked++, '') }
    expect(listWindows([counted], mine, inFamily)).to.deep.equal([])
    expect(asked).to.equal(0)
  })
})
