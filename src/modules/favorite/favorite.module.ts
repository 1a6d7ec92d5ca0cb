import { Module } from '@nestjs/common';
import { MessagingModule } from '../messaging/messaging.module.js';
import { FavoriteController } from './favorite.controller.js';
import { FavoriteCache } from './favorite.redis.js';
import { FavoriteService } from './favorite.service.js';
import { FavoriteStore } from './favorite.store.js';

@Module({
  imports: [MessagingModule],
  controllers: [FavoriteController],
  providers: [FavoriteStore, FavoriteCache, FavoriteService],
})
export class FavoriteModule {}
