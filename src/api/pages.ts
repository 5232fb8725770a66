import helmet from '@fastify/helmet';
import type { HttpApp } from '../http/app.js';

/**
 * What a browser may do with our pages: run scripts and styles from files of this address, talk to it, and
 * nothing else; nothing inline, nothing from elsewhere, no frame round it. Of data, which is no page, it may
 * not even guess that it is one.
 */
const CONTENT_SECURITY_POLICY = {
  'default-src': ["'none'"],
  'script-src': ["'self'"],
  'style-src': ["'self'"],
  'img-src': ["'self'", 'data:'],
  'font-src': ["'self'"],
  'connect-src': ["'self'"],
  'form-action': ["'self'"],
  'base-uri': ["'none'"],
  'frame-ancestors': ["'none'"],
};

/** Adds the headers that keep browsers from being turned against our pages to every answer. */
export function protectPages(app: HttpApp): void {
  void app.register(helmet, {
    // Not "upgrade-insecure-requests", which is among its defaults: `npm start` serves plain HTTP.
    contentSecurityPolicy: { useDefaults: false, directives: CONTENT_SECURITY_POLICY },
    // A matter of who ends TLS, which is not us; said here it would also hold for their other services.
    strictTransportSecurity: false,
    frameguard: { action: 'deny' },
  });
}
