/** What both ends agree on, apart from `wire.ts`, whose schemas take long to load. */

/** Before every path of the accounts API. */
export const apiPrefix = '/api/v1/auth'

export const passwordChars = { least: 8, most: 1024 } as const

/** Callers who may make an account: all, holders of an invitation, or none. */
export const registrationModes = ['open', 'invite', 'closed'] as const
export type RegistrationMode = (typeof registrationModes)[number]

/** Scopes of service tokens that read one scheme of instances at a gateway. */
export const schemeScopes = [
  'read:scene',
  'read:capture',
  'read:artefact',
  'read:audit',
  'read:events',
  'read:notes',
] as const
export const serviceScopes = ['read', 'publish', 'instance', ...schemeScopes] as const
