package main

import (
	"context"
	"log"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// controller serves the two calls of the snapshotter. There is no LIST_SNAPSHOTS and no GET_SNAPSHOT: then the
// sidecar asks for progress by calling CreateSnapshot again, the oldest and most common kind of driver.
type controller struct {
	csi.UnimplementedControllerServer
	storage    *storage
	behaviours *behaviours
}

func (c *controller) ControllerGetCapabilities(context.Context, *csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	return &csi.ControllerGetCapabilitiesResponse{Capabilities: []*csi.ControllerServiceCapability{{
		Type: &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{
			Type: csi.ControllerServiceCapability_RPC_CREATE_DELETE_SNAPSHOT,
		}},
	}}}, nil
}

func (c *controller) CreateSnapshot(ctx context.Context, request *csi.CreateSnapshotRequest) (*csi.CreateSnapshotResponse, error) {
	name, volume := request.GetName(), request.GetSourceVolumeId()
	if name == "" || volume == "" {
		return nil, status.Error(codes.InvalidArgument, "name and source_volume_id are needed")
	}
	c.storage.called(volume)
	if existing, found := c.storage.find(name); found {
		if existing.Volume != volume {
			return nil, status.Errorf(codes.AlreadyExists, "%s is a snapshot of %s", name, existing.Volume)
		}
		return answer(existing), nil
	}

	how, fails := c.behaviours.take(volume)
	if fails {
		return nil, status.Error(codes.Code(how.Code), how.Message)
	}
	if how.Hang {
		select {
		case <-how.replaced:
			// The behaviour that took its place decides how it goes on, its latency included.
			how, fails = c.behaviours.take(volume)
			if fails {
				return nil, status.Error(codes.Code(how.Code), how.Message)
			}
		case <-ctx.Done():
			return nil, c.givenUp(ctx, name, volume, how)
		}
	}
	select {
	case <-time.After(how.Latency):
		return answer(c.storage.cut(name, volume, how)), nil
	case <-ctx.Done():
		return nil, c.givenUp(ctx, name, volume, how)
	}
}

// DeleteSnapshot of an unknown handle succeeds, as CSI asks.
func (c *controller) DeleteSnapshot(_ context.Context, request *csi.DeleteSnapshotRequest) (*csi.DeleteSnapshotResponse, error) {
	c.storage.delete(request.GetSnapshotId())
	return &csi.DeleteSnapshotResponse{}, nil
}

// givenUp is what happens after the caller has left: nothing, or a cut that nobody waits for any more.
func (c *controller) givenUp(ctx context.Context, name, volume string, how behaviour) error {
	if how.CutAfterGivingUp > 0 {
		time.AfterFunc(how.CutAfterGivingUp, func() {
			log.Printf("late cut: %+v", c.storage.cut(name, volume, how))
		})
	}
	return status.FromContextError(ctx.Err()).Err()
}

func answer(made snapshot) *csi.CreateSnapshotResponse {
	return &csi.CreateSnapshotResponse{Snapshot: &csi.Snapshot{
		SnapshotId:     made.Handle,
		SourceVolumeId: made.Volume,
		SizeBytes:      made.Size,
		CreationTime:   timestamppb.New(made.Cut),
		ReadyToUse:     !time.Now().Before(made.ReadyAt),
	}}
}
