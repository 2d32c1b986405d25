import { expect } from 'chai'
import { type AccountHome, createAccountHome } from '../helpers/account-home.ts'
import { cleanEnv } from '../helpers/program.ts'
import { type Step, ctrlC, runOnTerminal, whyNoTerminal } from '../helpers/pseudo-terminal.ts'
import { createCaller, password, quickLimits } from '../helpers/accounts-caller.ts'
import type { RunningAccounts } from '../helpers/accounts-process.ts'
import { skipBecause } from '../helpers/skip.ts'
import { accountsInProcess } from '../helpers/in-process-servers.ts'

const second = 'typed Password 94'
const third = 'typed Password 95'

describe('service-cli password on a terminal', () => {
  let registry: RunningAccounts
  let home: AccountHome

  before(async function () {
    const why = whyNoTerminal()
    if (why !== null) skipBecause(this, why)
    registry = await accountsInProcess({ flags: quickLimits })
    home = createAccountHome(registry.url)
    await createCaller(registry.url).register('alice')
  })

  after(async () => {
    await registry?.stop()
    home?.remove()
  })

  async function type(args: readonly string[], steps: readonly Step[]) {
    const ended = await runOnTerminal(args, { env: home.env(), steps })
    home.remember({ args, ...ended })
    return { code: ended.code, screen: ended.stdout }
  }
  const login = async (secret: string) =>
    (await home.run(['login', 'alice', '--password-stdin'], { input: secret })).code

  it('asks nothing when nobody is logged in', async () => {
    const { code, screen } = await type(['password'], [])
    expect(code, screen).to.equal(4)
    expect(screen).to.contain('not logged in').and.not.contain('password:')
  })

  it('asks for the current password, and twice for the new one, and shows neither', async () => {
    expect(await login(password)).to.equal(0)
    const { code, screen } = await type(
      ['password'],
      [
        { await: 'Current password:', send: `${password}\r` },
        { await: 'New password:', send: `${second}\r` },
        { await: 'again:', send: 'another\r' },
        { await: 'differs', send: `${'\u007f'.repeat(7)}${second}\r` },
      ],
    )
    expect(code, screen).to.equal(0)
    expect(screen).to.contain('is changed')
    for (const text of [password, second, 'another', '****']) expect(screen).not.to.contain(text)
    expect(await login(password)).to.equal(4)
    expect(await login(second)).to.equal(0)
  })

  it('changes nothing on Ctrl-C before the last question', async () => {
    const { code } = await type(
      ['password'],
      [
        { await: 'Current password:', send: `${second}\r` },
        { await: 'New password:', send: `${third}\r` },
        { await: 'again:', send: ctrlC },
      ],
    )
    expect(code).to.equal(130)
    expect(await login(second)).to.equal(0)
  })

  it('takes the command that the owner sees, and asks for the new password twice', async () => {
    const args = ['registry', 'users', 'reset-code', 'alice', '--data-dir', registry.dataDir]
    const made = await runOnTerminal(args, { env: cleanEnv(), steps: [] })
    const [, ...words] = /run\.js (\w+) (alice) (--code)/.exec(made.stdout) ?? []
    const [resetCode = ''] = /rst_[\w-]+/.exec(made.stdout) ?? []
    expect(words, made.stdout).to.have.length(3)
    const { code, screen } = await type(words, [
      { await: 'Reset code:', send: `${resetCode}\r` },
      { await: 'New password:', send: `${third}\r` },
      { await: 'again:', send: `${third}\r` },
    ])
    expect(code, screen).to.equal(0)
    expect(screen).to.contain('logged in').and.not.contain(third).and.not.contain(resetCode)
    expect((await home.run(['whoami'])).code).to.equal(0)
  })

  it('says at once that --password-stdin needs a pipe', async () => {
    const { code, screen } = await type(['password', '--password-stdin'], [])
    expect(code).to.equal(2)
    expect(screen).to.contain('stdin is a terminal')
  })

  it('has shown no password', () => {
    expect(home.leaks([password, second, third])).to.deep.equal([])
  })
})
