/** Who may make an account: anybody, whoever has an invitation, nobody. */
export const registrationModes = ['open', 'invite', 'closed'] as const
export type RegistrationMode = (typeof registrationModes)[number]
