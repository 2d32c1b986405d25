import { expect } from 'chai'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { type AccountHome, createAccountHome } from '../helpers/account-home.ts'
import { type RunningAccounts, createCaller, password } from '../helpers/accounts.ts'
import { accountsInProcess } from '../helpers/in-process-servers.ts'

/** A stdout that fails with every write. Like that of a process, it is never closed. */
class FailingStdout extends Writable {
  readonly #code: string

  constructor(code: string) {
    super()
    this.#code = code
  }

  override _write(_chunk: Buffer, _encoding: string, done: (error: Error) => void): void {
    done(Object.assign(new Error('write failed'), { code: this.#code, errno: -1 }))
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    done(error)
    const { _undestroy }: any = this
    _undestroy.call(this)
  }
}

describe('a command whose stdout cannot be written', () => {
  let registry: RunningAccounts
  let home: AccountHome

  before(async () => {
    registry = await accountsInProcess()
    home = createAccountHome(registry.url)
    await createCaller(registry.url).register('alice')
    const login = ['login', 'alice', '--password-stdin']
    expect((await home.run(login, { input: password })).code).to.equal(0)
  })

  const run = (args: readonly string[], code: string) =>
    home.run(args, {
      env: { SERVICE_REGISTRY_DIR: join(home.folder, 'state') },
      stdout: new FailingStdout(code),
    })

  const commands = ['whoami', 'token list --json', 'adapter blender --out -', 'serve --help']
  for (const words of commands) {
    it(`fails for ${words} on a full disk, and not for a reader that is gone`, async () => {
      const full = await run(words.split(' '), 'ENOSPC')
      expect(full.code, full.stderr).to.equal(1)
      expect(full.stderr).to.contain('cannot write to stdout (ENOSPC)')
      const closed = await run(words.split(' '), 'EPIPE')
      expect(closed.stderr).not.to.contain('stdout')
      expect(closed.code, closed.stderr).to.equal(0)
    })
  }

  it('keeps its own exit code, and says what failed beside', async () => {
    const { code, stderr } = await run(['nonsense', '--json'], 'ENOSPC')
    expect(code).to.equal(2)
    expect(stderr).to.contain('cannot write to stdout (ENOSPC)')
  })

  it('stops a server whose --json line cannot be written', async () => {
    const words = ['registry', '--port', '0', '--json', '--data-dir', join(home.folder, 'other')]
    const { code, stderr } = await run(words, 'ENOSPC')
    expect(code, stderr).to.equal(1)
    expect(stderr).to.contain('cannot write to stdout (ENOSPC)')
  })
})
