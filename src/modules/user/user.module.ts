import { Module } from '@nestjs/common';
import { UserController } from './user.controller.js';
import { UserCaches } from './user.redis.js';
import { UserService } from './user.service.js';

@Module({ controllers: [UserController], providers: [UserCaches, UserService], exports: [UserService] })
export class UserModule {}
