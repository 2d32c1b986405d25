/**
 * A token that cannot be accepted. Nothing in this library throws it: `validateBearerToken`
 * answers false. It is there for handlers that would rather throw, with the reason as `cause`. Keep
 * the token itself out of the message: it ends up in logs.
 */
export class TokenValidationError extends Error {
  override readonly name = 'TokenValidationError'

  constructor(message = 'token validation failed', options?: ErrorOptions) {
    super(message, options)
  }
}
