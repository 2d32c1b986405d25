import { expect } from 'chai'
import { type AccountHome, createAccountHome } from '../helpers/account-home.ts'
import { type Step, runOnTerminal, whyNoTerminal } from '../helpers/pseudo-terminal.ts'
import { createCaller, quickLimits } from '../helpers/accounts-caller.ts'
import { createAccountsOwner } from '../helpers/accounts-owner.ts'
import type { RunningAccounts } from '../helpers/accounts-process.ts'
import { skipBecause } from '../helpers/skip.ts'
import { accountsInProcess } from '../helpers/in-process-servers.ts'

const password = 'typed Secret Ending'

describe('service-cli register on a terminal', () => {
  let registry: RunningAccounts
  let home: AccountHome

  const start = async (...flags: string[]) => {
    registry = await accountsInProcess({ flags: [...quickLimits, ...flags] })
    home = createAccountHome(registry.url)
  }

  before(function () {
    const why = whyNoTerminal()
    if (why !== null) skipBecause(this, why)
  })

  afterEach(async () => {
    await registry?.stop()
    home?.remove()
  })

  const type = async (args: readonly string[], steps: readonly Step[] = []) => {
    const { code, stdout } = await runOnTerminal(args, { env: home.env(), steps })
    return { code, screen: stdout }
  }

  it('says that an e-mail is wrong or a name taken before it asks for the password', async () => {
    await start()
    await createCaller(registry.url).register('alice')
    for (const [args, says] of [
      [['register', 'bob', '--email', 'nonsense'], 'email'],
      [['register', 'alice', '--email', 'a@x.example'], 'already'],
      [['register', 'bob', '--email', 'alice@studio.example'], 'already'],
    ] as const) {
      const { code, screen } = await type(args)
      expect(code, screen).to.equal(3)
      expect(screen).to.contain(says).and.not.contain('New password')
    }
  })

  it('asks for the invitation where the registry needs one, and shows neither secret', async () => {
    await start('--registration', 'invite')
    const { code: invite } = await createAccountsOwner(registry.dataDir).ask(['invite'])
    const bob = ['register', 'bob', '--email', 'bob@studio.example']
    const wrong = await type(bob, [{ await: 'Invitation code:', send: 'inv_wrong\r' }])
    expect(wrong.code, wrong.screen).to.equal(3)
    expect(wrong.screen).to.contain('invitation is unknown').and.not.contain('New password')
    const { code, screen } = await type(bob, [
      { await: 'Invitation code:', send: `${invite}\r` },
      { await: 'New password:', send: `${password}\r` },
      { await: 'again:', send: `${password}\r` },
    ])
    expect(code, screen).to.equal(0)
    expect(screen).to.contain('registered bob').and.not.contain(invite).and.not.contain(password)
  })
})
