import { expect } from 'chai'
import { PNG } from 'pngjs'
import {
  failureOfListing,
  loadLibrary,
  type NativeLibrary,
  type NativeWindow,
  unavailableOfListing,
} from '../../../src/server/capture/native/library.ts'
import { listWindows, takePicture } from '../../../src/server/capture/native/take-picture.ts'

const coded = (message: string, code: string, cause?: Error): Error =>
  Object.assign(new Error(message, { cause }), { code })

describe('loadLibrary', () => {
  const missingLibrary = coded(
    'libdbus-1.so.3: cannot open shared object file: No such file or directory',
    'ERR_DLOPEN_FAILED',
  )
  const failing: [name: string, error: unknown, part: string][] = [
    [
      'is not installed',
      coded("Cannot find package 'node-screenshots' imported from /a", 'ERR_MODULE_NOT_FOUND'),
      'is not installed',
    ],
    [
      'lacks a library of the system',
      new Error('Cannot find native binding', { cause: missingLibrary }),
      'libdbus-1.so.3 is missing',
    ],
    [
      'has no build for this system',
      coded("Cannot find module '/home/a/node-screenshots-x-y'", 'MODULE_NOT_FOUND'),
      'no build of it for this system',
    ],
    ['fails with something that is no error', 'broken', 'no build of it for this system'],
  ]
  for (const [name, error, part] of failing) {
    it(`says so when the package ${name}, and what to do`, async () => {
      const loaded = await loadLibrary(() => Promise.reject(error))
      if (loaded.ok) throw new Error('it was loaded')
      expect(loaded.failure.reason).to.equal('not_installed')
      expect(loaded.failure.message).to.include(part)
      expect(loaded.failure.message).to.not.include('/home')
      expect(loaded.failure.hint).to.include('install')
    })
  }

  it('takes a module of either kind, and refuses another form', async () => {
    const Window = { all: () => [] }
    for (const module of [{ Window }, { default: { Window } }]) {
      const loaded = await loadLibrary(() => Promise.resolve(module))
      expect(loaded.ok && loaded.value.Window).to.equal(Window)
    }
    for (const module of [{}, { default: 1 }, { Window: { all: 1 } }]) {
      const loaded = await loadLibrary(() => Promise.resolve(module))
      expect(loaded).to.have.nested.property('failure.message').that.includes('another form')
    }
  })
})

describe('failures of the library', () => {
  for (const [text, unavailable, failure] of [
    ['_NET_CLIENT_LIST_STACKING not supported', 'no_window_manager', 'failed'],
    ['Connection closed, error during parsing display string', 'no_display', 'no_display'],
    ['The handle is invalid. (0x80070006)', 'failed', 'failed'],
  ] as const) {
    it(`tells what "${text}" means`, () => {
      expect(unavailableOfListing(new Error(text)).reason).to.equal(unavailable)
      expect(failureOfListing(new Error(text)).reason).to.equal(failure)
    })
  }

  it('repeats no more than a line of what the system says', () => {
    const { message } = failureOfListing(new Error(`a\n\x1b[2J${'b'.repeat(5000)}`))
    expect(message).to.match(/^\P{Cc}{1,260}$/u)
  })
})

describe('takePicture by the library', () => {
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
    const all = typeof windows === 'function' ? windows : () => windows
    const library: NativeLibrary = { Window: { all } }
    const target = more.title === undefined ? mine : { pid: null, title: more.title }
    const form = { maxWidth: 100, maxBytes: 1e5, maxRounds: 3 }
    const request = { id: more.id ?? null, target, form, maxPixels: 1000 }
    return takePicture(library, request, inFamily, more.platform ?? 'win32')
  }

  it('gives every pixel of the window, whatever its transparency', async () => {
    const taken = await take([windowOf(1)])
    if (!taken.ok) throw new Error(taken.failure.message)
    expect(taken.value.window).to.deep.equal({ title: 'window 1', width: 2, height: 1 })
    const { data } = PNG.sync.read(taken.value.picture.png)
    expect([...data]).to.deep.equal([255, 0, 0, 255, 0, 0, 255, 255])
  })

  const foreign = { pid: () => 11 }
  const tellsLittle = { title: never, z: never, isFocused: never, isMinimized: never }
  const nothing = { ...image, toRaw: () => Promise.resolve(new Uint8Array(8)) }
  const blank = { captureImage: () => Promise.resolve(nothing) }
  const refused = { captureImage: () => Promise.reject(new Error('xcb protocol error')) }
  const mac = { platform: 'darwin' } as const

  const cases: [name: string, taking: () => ReturnType<typeof take>, expected: string][] = [
    [
      'passes over a window that tells no process',
      () => take([windowOf(1), windowOf(2, { pid: never })]),
      'window 1',
    ],
    [
      'passes over a window that is gone meanwhile',
      () => take([windowOf(1), windowOf(2, { width: never }), windowOf(3, { id: never })]),
      'window 1',
    ],
    ['bears a window that tells little', () => take([windowOf(1, tellsLittle)]), ''],
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
    ['says when nothing is drawn', () => take([windowOf(1, blank)]), 'blank'],
    ['says when the system gives no picture', () => take([windowOf(1, refused)]), 'failed'],
    [
      'says when the window is too large',
      () => take([windowOf(1, { width: () => 1001 })]),
      'failed',
    ],
    ['says when windows cannot be listed', () => take(never), 'failed'],
    [
      'takes a window without contents for a missing permission on macOS',
      () => take([windowOf(1, blank)], mac),
      'permission',
    ],
    [
      'takes windows without titles for a missing permission on macOS',
      () => take([windowOf(1, { pid: () => 11, title: () => '' })], mac),
      'permission',
    ],
    [
      'knows on macOS that titles of others need the permission',
      () => take([windowOf(1, foreign)], mac),
      'no_window',
    ],
  ]
  for (const [name, taking, expected] of cases) {
    it(name, async () => {
      const taken = await taking()
      expect(taken.ok ? taken.value.window.title : taken.failure.reason).to.equal(expected)
    })
  }

  it("asks others' windows for nothing but their process", () => {
    let asked = 0
    const counted = () => (asked++, 1)
    const other = windowOf(1, { ...foreign, width: counted, height: counted, z: counted })
    expect(listWindows([other], mine, inFamily)).to.deep.equal([])
    expect(asked).to.equal(0)
  })
})
