import { expect } from 'chai'
import {
  failureOfListing,
  loadLibrary,
  unavailableOfListing,
} from '../../../../src/server/capture/native/library.ts'

const coded = (message: string, code: string, cause?: Error): Error =>
  Object.assign(new Error(message, { cause }), { code })

describe('loadLibrary', () => {
  const failing: [name: string, error: unknown, part: string][] = [
    [
      'is not installed',
      coded("Cannot find package 'node-screenshots' imported from /a", 'ERR_MODULE_NOT_FOUND'),
      'is not installed',
    ],
    [
      'lacks a library of the system',
      new Error('Cannot find native binding', {
        cause: coded(
          'libdbus-1.so.3: cannot open shared object file: No such file or directory',
          'ERR_DLOPEN_FAILED',
        ),
      }),
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

  const Window = { all: () => [] }
  for (const [name, module] of [
    ['an ECMAScript module', { Window }],
    ['a CommonJS module', { default: { Window } }],
  ] as const) {
    it(`takes ${name}`, async () => {
      const loaded = await loadLibrary(() => Promise.resolve(module))
      expect(loaded.ok && loaded.value.Window).to.equal(Window)
    })
  }

  for (const module of [{}, { default: 1 }, { Window: {} }, { Window: { all: 1 } }]) {
    it(`refuses another form: ${JSON.stringify(module)}`, async () => {
      const loaded = await loadLibrary(() => Promise.resolve(module))
      expect(loaded).to.have.nested.property('failure.message').that.includes('another form')
    })
  }

  it('takes the package itself, where it is installed', async () => {
    const loaded = await loadLibrary(() => import('node-screenshots'))
    if (!loaded.ok) expect(loaded.failure.hint).to.include('install')
    else expect(loaded.value.Window.all).to.be.a('function')
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
