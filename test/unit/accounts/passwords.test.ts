import { expect } from 'chai'
import { Passwords } from '../../../src/server/accounts/passwords.ts'

const cheap = { memory: 8, passes: 1, parallelism: 1 }

describe('Passwords', () => {
  it('hash to a PHC string with a salt of its own, and know the password again', async () => {
    const passwords = new Passwords(cheap)
    const [one, two] = [await passwords.hash('caf\u00e9'), await passwords.hash('caf\u00e9')]
    expect(one)
      .to.match(/^\$argon2id\$v=19\$m=8,t=1,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
      .and.not.equal(two)
    // As two systems send it.
    for (const same of ['caf\u00e9', 'cafe\u0301']) {
      expect(await passwords.verify(same, one)).to.equal(true)
    }
    expect(await passwords.verify('caf\u00e9', null)).to.equal(false)
    expect(await passwords.verify('cafe', one)).to.equal(false)
  })

  it('are hashed for an unknown account, too, at the same cost', async () => {
    // Argon2 refuses so little memory: it is asked although there is no hash to compare with.
    const impossible = new Passwords({ ...cheap, memory: 1 })
    const failure = await impossible.verify('x', null).catch((error: unknown) => error)
    expect(failure).to.be.an('error')
  })

  it('use the parameters of OWASP by default, and know passwords of others again', async () => {
    const passwords = new Passwords()
    expect(await passwords.hash('x')).to.include('$m=19456,t=2,p=1$')
    expect(await passwords.verify('x', await new Passwords(cheap).hash('x'))).to.equal(true)
  })
})
